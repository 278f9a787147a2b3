"""The gateway under load, beside other gateways and proxies in front of the same worker."""
