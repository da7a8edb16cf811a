"""`wf-mcp call` and `read`: one request from the command line, by the same path that a client's takes."""

import base64
import json
import sys
from pathlib import Path

import typer

from wf_mcp.app import NOBODY, App
from wf_mcp.cli.common import fail, run_unattended
from wf_mcp.core.wire import JsonObject


def call_tool(config: Path | None, name: str, args: str, as_json: bool, wait: float, verbose: int) -> None:
    """Call a tool and print what it returned."""
    try:
        arguments = json.loads(args)
    except ValueError as error:
        fail(f"--args is no JSON: {error}")
    if not isinstance(arguments, dict):
        fail(f"--args: expected a JSON object, found {type(arguments).__name__}")

    async def work(app: App) -> int:
        result = await app.dispatch.call(NOBODY, "tools/call", {"name": name, "arguments": arguments})
        if as_json:
            typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
        else:
            for block in result.get("content") or []:
                typer.echo(_shown(block))
        return 1 if result.get("isError") else 0

    run_unattended(config, wait, verbose, work)


def _shown(block: JsonObject) -> str:
    """A content block for a person: text as it is, the rest by what it points to."""
    if block.get("type") == "text":
        return str(block.get("text", ""))
    if block.get("type") == "resource_link":
        return f"[link] {block.get('uri')}  {block.get('name', '')}".rstrip()
    if block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        return f"[resource] {block['resource'].get('uri')}\n{block['resource'].get('text', '(binary)')}"
    return f"[{block.get('type')}] {block.get('mimeType', '')}".rstrip()


def read_resource(config: Path | None, uri: str, as_json: bool, wait: float, verbose: int) -> None:
    """Read a resource and print its contents."""

    async def work(app: App) -> int:
        result = await app.dispatch.call(NOBODY, "resources/read", {"uri": uri})
        if as_json:
            typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
            return 0
        for content in result.get("contents") or []:
            if isinstance(content.get("text"), str):
                typer.echo(content["text"])
            elif isinstance(content.get("blob"), str):
                sys.stdout.buffer.write(base64.b64decode(content["blob"]))
                sys.stdout.buffer.flush()
        return 0

    run_unattended(config, wait, verbose, work)
