"""What wf-mcp reports on purpose: whose fault it is, and the JSON-RPC code that a client sees.

A type exists only where some caller catches it. The front translates them in one place (`edge/front.py`).
"""

from enum import Enum
from typing import Any, Final

from wf_mcp.core.trouble import Trouble

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
MISSING_CAPABILITY = -32021
"""`MissingRequiredClientCapability`, of 2026-07-28 only."""
RESOURCE_NOT_FOUND = -32002
"""Handshake revisions only (2025-11-25 server/resources § Error Handling); 2026-07-28 uses `INVALID_PARAMS`."""


class Null(Enum):
    """A value that is there and is JSON's null, where `None` means that there is none."""

    NULL = "null"


NULL: Final = Null.NULL
"""The `data` of an error that came with `"data": null`."""


class WfMcpError(Exception):
    """Anything wf-mcp reports on purpose; `code` is the JSON-RPC code, `data` the error's data.

    `trouble` is what went wrong on the way to an upstream, where that is the reason and is known.
    """

    code: int = INTERNAL_ERROR
    trouble: Trouble | None = None

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data


class UnknownName(WfMcpError):
    """The caller named a tool or prompt that nobody offers (server/tools § Error Handling)."""

    code = INVALID_PARAMS


class UnknownResource(WfMcpError):
    """The caller named a URI that no upstream owns; `data.uri` repeats it as the client wrote it."""

    code = RESOURCE_NOT_FOUND


class InvalidParams(WfMcpError):
    """The caller's parameters cannot be used."""

    code = INVALID_PARAMS


class NotServed(WfMcpError):
    """A method that this client cannot have from wf-mcp; the message says why."""

    code = METHOD_NOT_FOUND


class MissingCapability(WfMcpError):
    """A request needs a client capability that it did not declare (2026-07-28 basic/index § Error Codes); the data has
    `requiredCapabilities`.
    """

    code = MISSING_CAPABILITY


class FellBehind(WfMcpError):
    """A client let more wait for it than is kept; the message says what is lost and what to do."""


class RelayedError(WfMcpError):
    """A JSON-RPC error that the other side of a hop answered with: code, message and data as it sent them."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message, data)
        self.code = code


class UpstreamUnavailable(WfMcpError):
    """An upstream could not be reached or was lost; the message names it and the reason, the cause is chained."""


class LinkLost(UpstreamUnavailable):
    """The connection went away; `started` is false when the request certainly never reached the upstream."""

    def __init__(self, message: str, *, started: bool) -> None:
        super().__init__(message)
        self.started = started


class UpstreamTimeout(WfMcpError):
    """An upstream did not answer within its configured `timeout`."""


class ConfigError(WfMcpError):
    """A configuration that cannot be used; the message names file, line, JSON path, what was found and what is
    expected.
    """


class PluginError(WfMcpError):
    """A plug-in that its configuration calls required could not be used."""
