"""Which strings of a configuration are secret (design D13, field case F85).

Rather too many than too few: every environment value and header, and what looks like a credential in a URL or an
argument. `secrets.py` does the hiding.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from wf_mcp.core.config_values import StdioTransport, Transport
from wf_mcp.core.secrets import SHORTEST

_PUBLIC_VARIABLES: Final = re.compile(
    r"HOME|USER|LOGNAME|PATH|PWD|SHELL|TERM|LANG|LC_[A-Z]+|TZ|TMPDIR|HOSTNAME|XDG_[A-Z_]+|NODE_ENV|LOG_LEVEL|PORT"
)
"""Variables that every process has and nobody hides: masking `/home/me` would make messages useless."""

_PUBLIC_HEADERS: Final = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent"})

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_CREDENTIAL: Final = re.compile(r"token|secret|key|passwd|password|passphrase|credential|authorization", re.IGNORECASE)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://\S+")
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey)\s+(.+)", re.IGNORECASE | re.DOTALL)


def variable_secret(name: str, value: str) -> bool:
    """Whether the value of an environment variable has to be hidden."""
    return len(value) >= SHORTEST and not _PUBLIC_VARIABLES.fullmatch(name)


def transport_secrets(transport: Transport) -> Iterator[str]:
    """Every string of `transport` that has to be hidden."""
    if isinstance(transport, StdioTransport):
        yield from (value for name, value in transport.env.items() if variable_secret(name, value))
        yield from _argument_secrets(transport.args)
        return
    yield from _header_secrets(transport.headers)
    yield from _url_secrets(transport.url, every_query_value=True)


def _header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if name.lower() not in _PUBLIC_HEADERS:
            yield from _credentials(value)


def _credentials(value: str) -> Iterator[str]:
    """A header's value, the part after its scheme, and what Basic hides in it (RFC 7617)."""
    yield value
    scheme = _SCHEME.fullmatch(value.strip())
    if scheme is None:
        return
    yield scheme.group(1)
    if value.strip().lower().startswith("basic"):
        try:
            pair = base64.b64decode(scheme.group(1), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield pair
        yield pair.partition(":")[2]


def _argument_secrets(args: Sequence[str]) -> Iterator[str]:
    previous = ""
    for argument in args:
        for separator in "=:":
            name, _, value = argument.partition(separator)
            if _names_a_credential(name.rstrip()):
                yield from _credentials(value.lstrip())
        if previous.startswith("-") and _names_a_credential(previous) and not argument.startswith("-"):
            yield argument
        for url in _URL.findall(argument):
            yield from _url_secrets(url, every_query_value=False)
        previous = argument


def _names_a_credential(name: str) -> bool:
    """Whether `name`, with or without dashes in front, reads like that of a credential: `API_KEY`, `--auth-token`."""
    return _NAME.fullmatch(name) is not None and _CREDENTIAL.search(name) is not None


def _url_secrets(url: str, every_query_value: bool) -> Iterator[str]:
    """User name, password and query values, as written and decoded; a part that is no URL has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    userinfo = parts.netloc.rpartition("@")[0]
    if userinfo:
        user, _, password = userinfo.partition(":")
        yield from (userinfo, user, password, unquote(user), unquote(password))
        # HTTP clients turn it into a header.
        yield base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if every_query_value or _names_a_credential(name):
            yield value
            yield from (decoded for _, decoded in parse_qsl(pair))
