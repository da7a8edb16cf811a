"""Bearer tokens from the configuration (design D12, D13)."""

import pytest

from wf_mcp.edge.auth import ConfiguredTokens

pytestmark = pytest.mark.anyio

TOKENS = {"alice": "token-of-alice", "bob": "tökën-of-bob"}


@pytest.mark.parametrize(("token", "holder"), [("token-of-alice", "alice"), ("tökën-of-bob", "bob")])
async def test_a_configured_token_names_its_holder(token: str, holder: str) -> None:
    access = await ConfiguredTokens(lambda: TOKENS).verify_token(token)
    assert access is not None
    assert (access.client_id, access.token, access.scopes) == (holder, token, [])


@pytest.mark.parametrize("token", ["", "wrong", "token-of-alic", "token-of-alicee", "Token-of-alice", "alice"])
async def test_any_other_token_is_nobodys(token: str) -> None:
    assert await ConfiguredTokens(lambda: TOKENS).verify_token(token) is None


async def test_tokens_are_those_of_the_configuration_in_force() -> None:
    tokens = dict(TOKENS)
    verifier = ConfiguredTokens(lambda: tokens)
    del tokens["alice"]
    tokens["carol"] = "token-of-carol"
    assert await verifier.verify_token("token-of-alice") is None
    assert await verifier.verify_token("token-of-carol") is not None
