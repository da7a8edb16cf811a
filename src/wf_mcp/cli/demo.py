"""`wf-mcp demo`."""


def run() -> None:
    """Placeholder replaced below."""
