"""The HTTP server around the app: connections, event streams, slow steps, shutdown."""
