"""The built-in plug-in with wf-mcp's own tools, by which a chat operates the proxy (design D12).

Thin on purpose: what they do and return is the running proxy's, reached through `Admin`. The descriptions are written
for the model that has to decide whether to call them.
"""

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import Field

from wf_mcp.core.reports import EventList
from wf_mcp.plugin import Admin, AdminTool, Inventory, ReloadReport, Status, impl

RELOAD_CONFIG: Final = """\
Read wf-mcp's configuration file again and apply what changed in it. Call this after the file was edited, or \
when the user asks for it. Upstream servers whose entry did not change keep running; new ones are started, \
removed ones stopped, changed ones restarted, which ends calls that they are working on. A file with a mistake \
changes nothing: then `error` says where the mistake is. Tool lists that change are announced to all clients."""

INVENTORY: Final = """\
List everything that can be used through this proxy, upstream by upstream: tools, prompts, resources and \
resource templates, each with the name to use here and its name on its own server, and what each upstream says \
about itself. Use it to find out which upstream a tool belongs to, or what is on offer. To learn why something \
is absent, use `status`."""

STATUS: Final = """\
Show how this proxy and its upstream servers are doing: for each upstream its state, the reason when it \
failed, process id, protocol version, uptime, number of calls and errors and the last lines of its stderr; \
also which plug-ins are active, and remarks on the configuration. Call this first when a tool is missing or an \
upstream does not answer."""

EVENTS: Final = """\
Show what happened lately inside this proxy, newest last: upstreams that started, failed or went away, lists \
that changed, configuration reloads, failing plug-ins. Use it to see when something went wrong and in which \
order."""


@impl
def wf_admin_tools(admin: Admin) -> Iterable[AdminTool]:
    """Offer `reload_config`, `inventory`, `status` and `events`."""

    async def reload_config() -> ReloadReport:
        return await admin.reload()

    async def inventory() -> Inventory:
        return await admin.inventory()

    async def status() -> Status:
        return admin.status()

    async def events(limit: Annotated[int, Field(ge=1, le=500, description="How many at most.")] = 50) -> EventList:
        return EventList(events=admin.events(limit))

    return [
        AdminTool(
            "reload_config", reload_config, "Reload the configuration", RELOAD_CONFIG, read_only=False, idempotent=True
        ),
        AdminTool("inventory", inventory, "What this proxy offers", INVENTORY, read_only=True, idempotent=True),
        AdminTool("status", status, "State of proxy and upstreams", STATUS, read_only=True, idempotent=True),
        AdminTool("events", events, "Recent events", EVENTS, read_only=True, idempotent=True),
    ]
