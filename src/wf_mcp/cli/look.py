"""`wf-mcp check`, `inventory` and `plugins`: what there is, and what is wrong with it."""

from pathlib import Path

import typer
from rich.table import Table

from wf_mcp.app import NOBODY, App
from wf_mcp.cli.common import err, out, run_unattended
from wf_mcp.cli.doctor import GOOD, StartTimes, diagnosis, table_of
from wf_mcp.core.kinds import KINDS


def check_all(config: Path | None, wait: float, verbose: int) -> None:
    """Start every upstream, list what it has, and print one line for each, and what to do where one does not work."""

    starts = StartTimes()

    async def work(app: App) -> int:
        app.bus.add(starts)
        await _look(app)
        status = app.operator.status()
        found = {each.id: each for each in (await app.operator.inventory()).upstreams}
        out.print(table_of(status.upstreams, found, starts))
        for upstream in status.upstreams:
            if (wrong := diagnosis(upstream, wait)) is not None:
                out.print(f"{upstream.id}: {wrong[0]}\n  → {wrong[1]}", markup=False)
        for note in (*status.name_clashes, *status.web_conflicts):
            err.print(f"note: {note}", style="yellow", markup=False)
        for plugin in status.plugins:
            if plugin.state in ("failed", "missing"):
                err.print(f"plug-in {plugin.name}: {plugin.state}: {plugin.reason}", style="yellow", markup=False)
        return 0 if all(each.state in GOOD for each in status.upstreams) else 1

    run_unattended(config, wait, verbose, work)


def show_inventory(config: Path | None, as_json: bool, wait: float, verbose: int) -> None:
    """Print every upstream's tools, prompts, resources and templates."""

    async def work(app: App) -> int:
        await _look(app)
        found = await app.operator.inventory()
        if as_json:
            typer.echo(found.model_dump_json(indent=2))
            return 0
        for upstream in found.upstreams:
            out.print(f"{upstream.id}: {upstream.state}", style="bold", markup=False)
            for item in (*upstream.tools, *upstream.prompts):
                out.print(f"  {item.public_name}  {item.title or ''}".rstrip(), markup=False)
            for uri in (*upstream.resources, *upstream.templates):
                out.print(f"  {uri.public_uri}  {uri.name or ''}".rstrip(), markup=False)
        return 0

    run_unattended(config, wait, verbose, work)


def show_plugins(config: Path | None, verbose: int) -> None:
    """Print the state of every plug-in."""

    async def work(app: App) -> int:
        table = Table("plug-in", "version", "state", "remark", box=None, pad_edge=False)
        states = app.plugins.statuses()
        for plugin in states:
            table.add_row(plugin.name, plugin.version or "built in", plugin.state, plugin.reason or "")
        out.print(table)
        return 1 if any(plugin.state in ("failed", "missing") for plugin in states) else 0

    run_unattended(config, 0.1, verbose, work)


async def _look(app: App) -> None:
    """Start everything and list everything, showing a person at a terminal that something is going on."""
    with err.status("starting upstreams …"):
        for kind in KINDS:
            await app.listings.listing(NOBODY, kind)
