"""A pocket calculator: tools only."""

from fastmcp import FastMCP

server = FastMCP("calculator", version="1.0.0")


@server.tool
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@server.tool
def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


if __name__ == "__main__":
    server.run("stdio", show_banner=False)
