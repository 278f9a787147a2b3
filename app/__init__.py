"""The gateway: HTTP in, one grammar per request, HTTP out. The way in: ``app.main.create_app``."""
