"""`/healthz` and `/readyz` of `wf-mcp serve --http`, as an orchestrator asks them."""

import httpx2
import pytest
from tests.covers import covers
from tests.rig import Rig

pytestmark = pytest.mark.anyio


@covers("telemetry.probes", "/healthz and /readyz answer without a token, by address, with upstreams counted by state")
async def test_probes_answer_without_a_token(rig: Rig) -> None:
    rig.with_token()
    rig.upstream("alpha")
    rig.upstream("off", disabled=True)
    rig.entries["broken"] = {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}}
    front = rig.serve("http")
    async with front.raw() as raw, httpx2.AsyncClient(timeout=10, headers={"host": "10.1.2.3:8000"}) as http:
        await raw.text("alpha.who")
        assert front.url is not None
        base = front.url.removesuffix("/mcp")
        health, ready, mcp = [await http.get(base + path) for path in ("/healthz", "/readyz", "/mcp")]
    assert (health.status_code, health.json()) == (200, {"status": "alive"})
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "upstreams": {"ready": 1, "disabled": 1, "failed": 1}},
    )
    assert mcp.status_code == 421
