"""Answers one question about dates; the demo adds it while wf-mcp runs."""

from datetime import date

from fastmcp import FastMCP

server = FastMCP("dates", version="1.0.0")


@server.tool
def weekday(day: date) -> str:
    """Name the weekday of a date, written as YYYY-MM-DD."""
    return f"{day:%A}"


if __name__ == "__main__":
    server.run("stdio", show_banner=False)
