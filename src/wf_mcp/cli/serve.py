"""`wf-mcp serve`: one front, until its client leaves or a signal comes."""

import os
import signal
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import anyio

from wf_mcp.app import App, Front
from wf_mcp.cli.common import err, fail, mistakes_in_words, open_config, run_async
from wf_mcp.core.config_values import NamesStyle
from wf_mcp.core.events import Event, UpstreamFailed, UpstreamGone, UpstreamReady, describe
from wf_mcp.edge.http_sessions import HttpLimits
from wf_mcp.edge.serving import Address, check_exposed, serve_http, serve_stdio
from wf_mcp.edge.telemetry_sdk import exporting

PARTING = 2.0
"""Seconds that the listen streams of a stdio front get to end in good order."""

WRITING = 0.1
"""Seconds in which the results of streams that ended get from their handlers to stdout."""

FORCED = 70
"""Exit code after a second signal; the watchdog then ends the children."""


def run(config: Path | None, http: str | None, names: str | None, stateless: bool, verbose: int) -> None:
    """Serve until the end; see `wf-mcp serve --help`."""
    wanted = _style(names)
    if stateless and http is None:
        fail("--stateless concerns clients of --http; over stdio there is one client and no session")
    loaded, read = open_config(config, verbose)
    with mistakes_in_words(), exporting(os.environ):
        address = None if http is None else Address.parse(http)
        if address is not None:
            check_exposed(address, loaded.tokens)
        front = Front("stdio" if address is None else "http", wanted or loaded.names.style)
        app = App(loaded, front, read=read, remember=True)
        if sys.stderr.isatty():
            app.bus.add(Progress())
        code = run_async(lambda: _serve(app, address, stateless))
    raise SystemExit(code)


def _style(names: str | None) -> NamesStyle | None:
    match names:
        case None | "dotted" | "safe":
            return names
        case _:
            fail(f"--names {names}: expected dotted or safe")


async def _serve(app: App, address: Address | None, stateless: bool) -> int:
    stop = anyio.Event()
    async with app.running(), anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            tasks.start_soon(_watch_signals, stop, name="signals")
            if address is None:
                tasks.start_soon(_leave, app, stop, scope, name="end of the stdio front")
                await serve_stdio(app.server, app.callers.watch)
            else:
                if sys.stderr.isatty():
                    err.print(f"serving {address.url}")
                allowed = app.operator.config.allowed_hosts
                limits, states = partial(_limits, app), partial(_states, app)
                await serve_http(app.server, address, allowed, stop, limits, stateless=stateless, states=states)
        tasks.cancel_scope.cancel()
    return 0


def _limits(app: App) -> HttpLimits:
    """The HTTP front's limits as the configuration has them at the time."""
    config = app.operator.config
    return HttpLimits(config.max_request_bytes, config.session_idle)


def _states(app: App) -> Counter[str]:
    """How many upstreams are in which state, for whoever asks without a token."""
    return Counter(upstream.state for upstream in app.operator.status().upstreams)


async def _leave(app: App, stop: anyio.Event, scope: anyio.CancelScope) -> None:
    """Once told to stop, end the one client's listen streams with their results, and then everything else."""
    await stop.wait()
    if len(app.listeners):
        await app.listeners.stop(PARTING)
        await anyio.sleep(WRITING)
    scope.cancel()


async def _watch_signals(stop: anyio.Event) -> None:
    """The first SIGINT or SIGTERM ends the front in good order, the second ends the process at once."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            if stop.is_set():
                os._exit(FORCED)
            stop.set()


class Progress:
    """Shows a person at a terminal which upstreams have started, and which have not."""

    name = "progress"

    def offer(self, event: Event) -> None:
        """Print upstreams that came up or went away."""
        if isinstance(event, UpstreamReady | UpstreamFailed | UpstreamGone):
            style = "green" if isinstance(event, UpstreamReady) else "red"
            err.print(describe(event), style=style, markup=False)
