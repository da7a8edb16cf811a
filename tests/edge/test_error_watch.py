"""Errors with `"data": null` are told from those without data; messages pass as they are."""

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from wf_mcp.edge.error_watch import REMEMBERED, ErrorWatch

pytestmark = pytest.mark.anyio


def message(text: str) -> SessionMessage:
    return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))


def error(number: int, data: str = "") -> SessionMessage:
    return message(f'{{"jsonrpc":"2.0","id":{number},"error":{{"code":1,"message":"m"{data}}}}}')


async def watched(*items: object) -> tuple[ErrorWatch, list[object]]:
    send, receive = anyio.create_memory_object_stream[object](len(items) or 1)
    for item in items:
        send.send_nowait(item)
    send.close()
    watch = ErrorWatch(receive)
    async with watch:
        return watch, [item async for item in watch]


async def test_everything_passes_as_it_is_in_order() -> None:
    items = [message('{"jsonrpc":"2.0","method":"a"}'), error(1), ValueError("x"), error(2, ',"data":null')]
    assert (await watched(*items))[1] == items


async def test_null_is_told_from_nothing_and_from_other_data_once() -> None:
    watch, _ = await watched(error(1), error(2, ',"data":null'), error(3, ',"data":{"a":null}'))
    assert [watch.null_data(number) for number in (1, 2, 3, 2)] == [False, True, False, False]


async def test_only_so_many_are_remembered() -> None:
    watch, _ = await watched(*(error(number, ',"data":null') for number in range(REMEMBERED + 1)))
    assert (watch.null_data(0), watch.null_data(REMEMBERED)) == (False, True)


async def test_one_message_can_be_received() -> None:
    send, receive = anyio.create_memory_object_stream[object](1)
    async with send, ErrorWatch(receive) as watch:
        send.send_nowait(error(5, ',"data":null'))
        await watch.receive()
        assert watch.null_data(5) and watch.last_context is None
