"""`wf-mcp trust`: approve a project's file after seeing what it starts."""

import os
from pathlib import Path

import typer

from wf_mcp.cli.common import err, fail, mistakes_in_words
from wf_mcp.core.config import StdioTransport, load_config
from wf_mcp.core.secrets import Secrets
from wf_mcp.edge.configfile import find_config
from wf_mcp.edge.trust import trust, untrust


def approve(path: Path | None, remove: bool) -> None:
    """Remember, or with `remove` forget, that the file may be used."""
    target = path.absolute() if path is not None else _nearest()
    if remove:
        typer.echo(f"{target}: approval withdrawn" if untrust(target) else f"{target}: it was not approved")
        return
    try:
        data = target.read_bytes()
    except OSError as error:
        fail(f"{target}: {error.strerror or error}")
    with mistakes_in_words():
        config = load_config(
            data.decode("utf-8-sig", "replace"), file=str(target), base=str(target.parent), env=os.environ
        )
    hidden = Secrets(config.secrets)
    for upstream in config.upstreams:
        if isinstance(upstream.transport, StdioTransport):
            words = " ".join((upstream.transport.command, *upstream.transport.args))
        else:
            words = upstream.transport.url
        typer.echo(f"  {upstream.id}: {hidden.mask(words)}")
    trust(target, data)
    typer.echo(f"{target}: approved as it is now; after a change, approve it again")


def _nearest() -> Path:
    """The project file that would be used, or could be."""
    found = find_config(Path.cwd(), os.environ)
    candidates = [*found.untrusted, *((found.path,) if found.scope == "project" and found.path is not None else ())]
    if not candidates:
        err.print("Looked at:", *(str(each) for each in found.looked_at), sep="\n  ", markup=False)
        fail("there is no project file here to approve; name one")
    return Path(candidates[0])
