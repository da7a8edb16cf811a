"""Bearer tokens from the configuration, checked by FastMCP's own middleware (design D12, D13)."""

import hmac
from collections.abc import Callable, Mapping

from fastmcp.server.auth import AccessToken, TokenVerifier


class ConfiguredTokens(TokenVerifier):
    """Accepts the tokens that `wf.auth.tokens` names at the time; the name becomes the principal."""

    def __init__(self, tokens: Callable[[], Mapping[str, str]]) -> None:
        super().__init__()
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        """The principal that holds `token`; every configured token is compared, in constant time."""
        given = token.encode()
        holder = None
        for name, expected in self._tokens().items():
            if hmac.compare_digest(given, expected.encode()):
                holder = name
        return None if holder is None else AccessToken(token=token, client_id=holder, scopes=[])
