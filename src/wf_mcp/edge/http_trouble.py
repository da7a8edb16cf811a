"""What an HTTP exchange with an upstream came to where it came to no answer: exceptions and statuses as `Trouble`."""

import os
import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp

from wf_mcp.core.trouble import Trouble, TroubleKind
from wf_mcp.edge.http_address import CONNECT_TIMEOUT

_TLS = (
    aiohttp.ClientConnectorSSLError,
    aiohttp.ClientConnectorCertificateError,
    aiohttp.ServerFingerprintMismatch,
    ssl.SSLError,
)
_CONNECTING = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError, *_TLS)


class HttpFailure(Exception):
    """An exchange that came to no HTTP answer, or whose answer broke off."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


def before_connected(error: Exception) -> bool:
    """Whether there was no connection yet on which anything could have been sent."""
    return isinstance(error, _CONNECTING)


def trouble_of(error: Exception, where: str, *, started: bool) -> Trouble:
    """The trouble behind an exception of the HTTP client; `started` says whether anything of the message was sent."""
    if before_connected(error):
        kind: TroubleKind = "unreachable"
        if isinstance(error, _TLS):
            kind = "tls"
        elif isinstance(error, TimeoutError):
            kind = "timed_out"
        return Trouble(kind, f"{where} cannot be reached: {_reason(error)}")
    if isinstance(error, TimeoutError):
        return Trouble("timed_out", f"{where} took none of the message for {CONNECT_TIMEOUT:g} s", started)
    return Trouble("reset", f"the connection to {where} broke off: {_reason(error)}", started)


def _reason(error: Exception) -> str:
    """An exception in words, without the URL that some of them name."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"no connection within {CONNECT_TIMEOUT:g} s"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not accepted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return (
            os.strerror(number) if number is not None and number > 0 else str(error.os_error.strerror or error.os_error)
        )
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered HTTP {error.status}"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"its answer is not HTTP: {error.message}"
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return type(error).__name__
    return str(error) or type(error).__name__


def refusal(status: int, headers: Mapping[str, str], where: str) -> Trouble:
    """An HTTP status of refusal (RFC 9110 § 15), with what its headers say about coming back."""
    said = f"HTTP {status} from {where}"
    after = retry_after(headers.get("retry-after"))
    if status in (401, 403):
        message = f"{said}: check the headers configured for it"
        return Trouble("needs_auth", message, False, status, after, headers.get("www-authenticate"))
    if after is not None:
        said = f"{said}, to be tried again in {after:g} s"
    return Trouble("busy" if status in (429, 503) else "refused", said, False, status, after)


def retry_after(value: str | None) -> float | None:
    """The seconds of a `Retry-After`, which may be a date instead (RFC 9110 § 10.2.3)."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    with suppress(ValueError):
        when = parsedate_to_datetime(value)
        return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    return None
