"""What all HTTP transports to upstreams share, whichever library each is made with."""

from typing import Final
from urllib.parse import urlsplit

CONNECT_TIMEOUT: Final = 30.0
"""Seconds for connecting, and for a piece of a message to be taken."""


def address(url: str) -> str:
    """`url` as it may be shown: without credentials and without its query, which may be one."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
