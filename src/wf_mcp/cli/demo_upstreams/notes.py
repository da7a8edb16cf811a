"""A note-keeper: every note is a resource, and searching answers with links to them."""

from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError
from mcp_types import ResourceLink

server = FastMCP("notes", version="1.0.0", instructions="Search for a word, then read the notes that are linked.")

notes = {
    "bread": "Bread: 500 g flour, 350 g water, 10 g salt, patience.",
    "garden": "Garden: the beans want a pole, the tomatoes a roof.",
    "boat": "Boat: new ropes before Easter.",
}


@server.tool
def search(word: str) -> list[ResourceLink]:
    """Find the notes that contain a word."""
    hits = [title for title, text in notes.items() if word.lower() in text.lower()]
    return [ResourceLink(type="resource_link", uri=f"note://{title}", name=title) for title in hits]


@server.tool
def write(title: str, text: str) -> str:
    """Keep a note under a title; one that has the same title is replaced."""
    notes[title] = text
    return f"note://{title}"


@server.resource("note://{title}", mime_type="text/plain")
def note(title: str) -> str:
    """One note."""
    if title not in notes:
        raise ResourceError(f"There is no note with the title {title!r}")
    return notes[title]


if __name__ == "__main__":
    server.run("stdio", show_banner=False)
