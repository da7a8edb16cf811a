"""One upstream as it appears here: its name, which session serves whom, and what it offers (design D4)."""

import pytest
from tests.runtime.memory import Twin
from tests.runtime.stage import caller, config, stage, upstream

from wf_mcp.core.config_values import Isolation
from wf_mcp.core.events import UpstreamReady
from wf_mcp.core.merge import Offer
from wf_mcp.core.namespace import Namespace
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.mount import Mount, offers

pytestmark = pytest.mark.anyio

AUDIENCE = Audience("me", "team", "all", owned=True)


async def test_a_mount_is_called_by_its_label_or_else_by_its_id() -> None:
    first = config(upstream("Alpha", "alpha"), upstream("Bare", ""))
    async with stage(config_of=first) as s:
        assert [(mount.id, mount.label, mount.called) for mount in s.mounts] == [
            ("Alpha", "alpha", "alpha"),
            ("Bare", "", "Bare"),
        ]


@pytest.mark.parametrize(("isolation", "key"), [("client", "me"), ("principal", "team"), ("shared", "all")])
async def test_the_setting_says_which_of_a_callers_keys_counts(isolation: Isolation, key: str) -> None:
    async with stage(Twin("alpha"), config_of=config(upstream("alpha", isolation=isolation))) as s:
        mount = s.mounts["alpha"]
        assert mount.key(AUDIENCE) == key
        assert mount.session_of(AUDIENCE) is None
        session = s.mounts.session(mount, caller(AUDIENCE))
        assert mount.session_of(AUDIENCE) is session is s.session("alpha", key)


@pytest.mark.parametrize(
    ("options", "expected"), [({}, True), ({"enabled": False}, False), ({"problem": "KEY is not set"}, False)], ids=repr
)
def test_what_is_switched_off_or_broken_is_never_started(options: dict[str, object], expected: bool) -> None:
    mount = Mount(upstream("alpha", **options), Namespace("alpha", "alpha"), (), ())
    assert mount.startable() is expected


async def test_offers_say_what_is_known_of_each_upstream() -> None:
    first = config(
        upstream("alpha"), upstream("slow"), upstream("broken", problem="no"), upstream("lazy", start="lazy")
    )
    alpha = Twin("alpha", capabilities={"tools": {}}, said={"instructions": "be kind"})
    async with stage(alpha, Twin("slow"), config_of=first) as s:
        s.twin("slow").slow_start()
        s.mounts.attend(caller(), wake=False)
        await s.ear.hears(UpstreamReady)
        assert offers(s.mounts.attend(caller(), wake=False)) == [
            Offer("alpha", {"tools": {}}, "be kind"),
            Offer("slow", None),
            Offer("broken", {}),
            Offer("lazy", None),
        ]
