"""The benchmark works: one tiny cell is measured and told. What it measures says nothing about speed."""

import asyncio
import json
from pathlib import Path

import pytest
from bench.__main__ import main
from bench.blocks import Block, Side
from bench.bounds import verdicts
from bench.client import Client
from bench.messages import BadAnswer, check_echo
from bench.page import NOTES, page
from bench.plan import FULL, QUICK
from bench.results import Figure, Results, Row
from bench.table import size, text
from bench.waiting import whole_list
from bench.wire_http import HttpWire

DOCS = Path(__file__).parents[2] / "docs" / "performance.md"
SAVED = Path(__file__).parents[2] / "bench" / "results.json"


def row(**fields: object) -> Row:
    """A row of the calls."""
    known = {"area": "calls", "front": "stdio", "upstream": "stdio", "era": "handshake", "side": "wf-mcp"}
    return Row(**{**known, "payload": 100, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(("front", "era"), [("stdio", "handshake"), ("http", "modern")])
def test_one_tiny_cell(front: str, era: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results.json"
    options = ["--plan", "tiny", "--area", "calls", "--front", front, "--era", era, "--out", str(out)]
    assert main([*options, "--page", str(tmp_path / "page.md")]) == 0
    found = Results.load(out)
    assert found.failed == []
    cell, *peers = found.rows
    assert [peer.side for peer in peers] == ["FastMCP mounted", "bare relay"]
    assert cell.over_fastmcp is not None
    assert (cell.front, cell.era, cell.payload, cell.concurrency, cell.count) == (front, era, 100, 1, 3)
    assert cell.ratio > 0 and cell.base_p50 > 0
    assert "100 B, one at a time, p50" in capsys.readouterr().out
    assert "100 B, one at a time, p50" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_a_ratio_is_that_of_the_median_pair() -> None:
    class Nobody:
        pass

    base, side = (Side(name, Nobody()) for name in ("direct", "wf-mcp"))  # type: ignore[arg-type]
    base.blocks = [Block([1.0, 1.0], 2.0), Block([4.0], 4.0), Block([1.0], 1.0)]
    side.blocks = [Block([3.0, 3.0], 6.0), Block([8.0], 8.0), Block([5.0], 5.0)]
    assert side.slower(base) == 3.0
    assert side.kept(base) == pytest.approx(1 / 3)
    assert (side.percentile(0.5), side.percentile(0.99), side.count) == (5.0, 8.0, 4)


def test_limits_are_marked_as_reached_or_not() -> None:
    results = Results(rows=[row(ratio=6.9), row(ratio=7.1, era="modern"), row(concurrency=32, kept=0.05)])
    told = [(each.era, each.limit, each.value, each.reached) for each in verdicts(results)]
    assert told == [
        ("handshake", "≤ 7×", "6.90×", True),
        ("modern", "≤ 7×", "7.10×", False),
        ("handshake", "≥ 4 %", "5.00 %", True),
    ]
    assert "NOT REACHED" in text(results)


def test_a_limit_is_told_over_each_transport_to_upstreams() -> None:
    rows = [row(front="http", ratio=3.4), row(front="http", upstream="http", ratio=9.0)]
    told = [(each.upstream, each.reached) for each in verdicts(Results(rows=rows))]
    assert told == [("stdio", True), ("http", False)]


def test_results_come_back_from_the_file(tmp_path: Path) -> None:
    results = Results({"cores": "2"}, [row()], [Figure("memory", "each", "wf-mcp", "http", 1.5, "kB")], ["x: failed"])
    results.save(tmp_path / "r.json")
    assert Results.load(tmp_path / "r.json") == results
    assert json.loads((tmp_path / "r.json").read_text())["failed"] == ["x: failed"]
    assert "x: failed" in text(results)


def test_every_dimension_is_measured() -> None:
    assert FULL.payloads == (100, 100_000, 2**20)
    assert FULL.concurrency == (1, 8, 32)
    assert FULL.mounts == (20, 100, 500)
    assert FULL.lists == (10, 100)
    assert set(QUICK.payloads) < set(FULL.payloads)
    assert [size(payload) for payload in FULL.payloads] == ["100 B", "100 kB", "1 MB"]


@pytest.mark.parametrize(
    "answer",
    [
        {"content": [{"type": "text", "text": "y"}]},
        {"content": [{"type": "text", "text": "x"}], "isError": True},
    ],
)
def test_an_answer_that_is_no_echo_stops_the_measuring(answer: dict[str, object]) -> None:
    with pytest.raises(BadAnswer):
        check_echo(answer, "x")


def test_tools_of_wf_mcp_itself_do_not_count() -> None:
    class Pages:
        def __init__(self) -> None:
            self.pages = [
                {"tools": [{"name": "wf.admin.status"}, {"name": "a.echo"}], "nextCursor": "2"},
                {"tools": [{"name": "b.echo"}]},
            ]

        async def ask(self, method: str, params: object) -> dict[str, object]:
            return self.pages.pop(0)

    client = Client(Pages(), "handshake")  # type: ignore[arg-type]
    assert asyncio.run(whole_list(client, 2)) == ["a.echo", "b.echo"]


def test_an_event_stream_is_understood() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"mcp-method: tools/call" in head
        body = b'data: {"jsonrpc":"2.0","method":"x"}\n\ndata: {"jsonrpc":"2.0","id":1,"result":{"a":1}}\n\n'
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:30], body[30:], b""))
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + chunks
        )
        await writer.drain()
        writer.close()

    async def ask() -> object:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            wire = HttpWire(f"http://127.0.0.1:{port}/mcp", "modern")
            try:
                return await wire.ask("tools/call", {"name": "echo", "arguments": {}})
            finally:
                wire.close()

    assert asyncio.run(ask()) == {"a": 1}


def test_the_page_is_that_of_the_saved_results() -> None:
    made = page(Results.load(SAVED), NOTES.read_text(encoding="utf-8"))
    assert DOCS.read_text(encoding="utf-8") == made
