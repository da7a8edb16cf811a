"""The command line: `wf-mcp serve`, and the commands that look at, try and approve what it would serve.

Everything that takes time to import is imported by the command that needs it, so that `--help`, `--version` and shell
completion answer at once.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from wf_mcp.version import VERSION

app = typer.Typer(
    name="wf-mcp",
    help="One MCP endpoint in front of any number of MCP servers, which loses nothing on the way.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="The configuration file. Without it: WF_MCP_CONFIG, else an approved wf-mcp.json or .mcp.json "
        "here or above, else yours.",
    ),
]
VerboseOption = Annotated[
    int, typer.Option("--verbose", "-v", count=True, help="Say more on stderr; twice for everything.")
]
WaitOption = Annotated[float, typer.Option("--wait", min=0.1, help="Seconds to wait for upstreams that do not answer.")]


@contextmanager
def _lasting() -> Iterator[None]:
    """What is imported in the block stays for good: it is not searched for garbage, neither now, which saves a tenth of
    the time, nor later.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wf-mcp {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """One MCP endpoint in front of any number of MCP servers, which loses nothing on the way."""


@app.command()
def serve(
    config: ConfigOption = None,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve over HTTP at /mcp instead of stdin and stdout."),
    ] = None,
    names: Annotated[
        str | None, typer.Option("--names", help="Form of the names in lists: dotted or safe. Both can be called.")
    ] = None,
    stateless: Annotated[
        bool, typer.Option("--stateless", help="With --http: give handshake clients no sessions.")
    ] = False,
    verbose: VerboseOption = 0,
) -> None:
    """Serve all configured upstreams as one MCP server."""
    with _lasting():
        from wf_mcp.cli.serve import run

    run(config, http, names, stateless, verbose)


@app.command()
def check(config: ConfigOption = None, wait: WaitOption = 30.0, verbose: VerboseOption = 0) -> None:
    """Check the configuration and start every upstream once; ends with 0 when all of them work."""
    from wf_mcp.cli.look import check_all

    check_all(config, wait, verbose)


@app.command()
def inventory(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    wait: WaitOption = 30.0,
    verbose: VerboseOption = 0,
) -> None:
    """List what every upstream offers, under its public and its own names."""
    from wf_mcp.cli.look import show_inventory

    show_inventory(config, as_json, wait, verbose)


@app.command()
def plugins(config: ConfigOption = None, verbose: VerboseOption = 0) -> None:
    """List the plug-ins, and why one is not in use."""
    from wf_mcp.cli.look import show_plugins

    show_plugins(config, verbose)


@app.command()
def call(
    name: Annotated[str, typer.Argument(help="Public name of a tool, in either form.")],
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="The tool's arguments.")] = "{}",
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    wait: WaitOption = 30.0,
    verbose: VerboseOption = 0,
) -> None:
    """Call one tool and print its result; ends with 1 when the tool reports an error."""
    from wf_mcp.cli.use import call_tool

    call_tool(config, name, args, as_json, wait, verbose)


@app.command()
def read(
    uri: Annotated[str, typer.Argument(help="Public URI of a resource, listed or not.")],
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    wait: WaitOption = 30.0,
    verbose: VerboseOption = 0,
) -> None:
    """Read one resource and print its contents; binary contents are written as they are."""
    from wf_mcp.cli.use import read_resource

    read_resource(config, uri, as_json, wait, verbose)


@app.command()
def verify(
    upstream: Annotated[
        list[str] | None, typer.Argument(metavar="UPSTREAM...", help="Servers of the configuration; without any, all.")
    ] = None,
    call: Annotated[
        list[str] | None,
        typer.Option("--call", metavar="NAME=ARGS", help="Call this tool too, once each way; ARGS is a JSON object."),
    ] = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    wait: WaitOption = 30.0,
    verbose: VerboseOption = 0,
) -> None:
    """Ask servers directly and through wf-mcp, and print every difference; ends with 1 when something is lost."""
    from wf_mcp.cli.verify import run

    run(config, upstream or [], call or [], as_json, wait, verbose)


@app.command()
def trust(
    path: Annotated[Path | None, typer.Argument(help="The project's file; without it, the nearest one.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Withdraw the approval.")] = False,
) -> None:
    """Approve a project's file, as it is now, so that its commands may be started from within that project."""
    from wf_mcp.cli.trusting import approve

    approve(path, remove)


@app.command()
def demo() -> None:
    """Show the whole path on two bundled upstreams: no network, no key."""
    from wf_mcp.cli.demo import run

    run()


def main() -> None:
    """Entry point of the console script: a user's mistake is one clear message, never a traceback."""
    app()
