"""The rim: sockets, processes, files, and the only place that knows FastMCP and the SDK."""
