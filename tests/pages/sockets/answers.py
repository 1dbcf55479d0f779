"""The pages of this folder get these answers of the server."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from support.clients.websocket import frame
from support.pages.feature import Answers, Question, Raw, Read, Reply, Write
from support.pages.sockets import heard, upgrade


async def _socket(question: Question, write: Write, read: Read) -> None:
    """Say hello, then return each message turned round; `bytes` gets four bytes."""
    await upgrade(question, write)
    await write(frame(1, b"hello"))
    while True:
        opcode, payload = await heard(read)
        if opcode == 8:
            await write(frame(8, payload[:2]))
            return
        await write(frame(2, b"\x01\x02\x03\x04") if payload == b"bytes" else frame(1, payload[::-1]))


async def _bytes_socket(question: Question, write: Write, read: Read) -> None:
    """Choose the second protocol, send 70,000 bytes, return what is sent, and close with a code of its own."""
    await upgrade(question, write, b"Sec-WebSocket-Protocol: leaf.v1")
    await write(frame(2, b"m" * 70_000))
    opcode, payload = await heard(read)
    await write(frame(opcode, payload) + frame(8, (4001).to_bytes(2) + b"done"))
    await heard(read)


async def _graphql_socket(question: Question, write: Write, read: Read) -> None:
    """Answer a subscription under the id that the client has made up."""
    await upgrade(question, write, b"Sec-WebSocket-Protocol: graphql-transport-ws")
    while True:
        opcode, payload = await heard(read)
        if opcode == 8:
            return
        message = json.loads(payload)
        if message["type"] == "connection_init":
            await write(frame(1, b'{"type":"connection_ack"}'))
        elif message["type"] == "subscribe":
            for at in (1, 2):
                answer = {
                    "type": "next",
                    "id": message["id"],
                    "payload": {"data": {"picture": f"216x2{at}-event{at}.png"}},
                }
                await write(frame(1, json.dumps(answer).encode()))
            await write(frame(1, json.dumps({"type": "complete", "id": message["id"]}).encode()))


def _engine(question: Question) -> Reply:
    """Open a session at the first request, acknowledge what is posted, and deliver what waits."""
    if "sid=" not in question.query:
        return Reply(
            '0{"sid":"lv_VI97HAXpY6yYWAAAB","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000}'
        )
    if question.method == "POST":
        return Reply("ok", "text/html")
    return Reply('40{"sid":"oSO0OpakMV_3jnilAAAA"}' if question.count("poll") == 1 else "6")


async def _engine_socket(question: Question, write: Write, read: Read) -> None:
    """Take a session over from polling: answer the probe, and send an event after the upgrade."""
    await upgrade(question, write)
    while True:
        opcode, payload = await heard(read)
        if opcode == 8:
            return
        if payload == b"2probe":
            await write(frame(1, b"3probe"))
        elif payload == b"5":
            await write(frame(1, b'42["hello","218x20-hello.png"]'))


async def _sockjs(question: Question, write: Write, read: Read) -> None:
    await upgrade(question, write)
    await write(frame(1, b"o"))
    await write(frame(1, b'a["342x20-framed.png"]'))
    await read(1)


async def _live_view(question: Question, write: Write, read: Read) -> None:
    """Answer each message under its number, and a click with the changed part of the page."""
    await upgrade(question, write)
    while True:
        kind, payload = await heard(read)
        if kind == 8:
            return
        join, ref, topic, event, value = json.loads(payload)
        response: dict[str, object] = {}
        if event == "phx_join":
            response = {"rendered": {"0": "<img src=373x20-mounted.png>"}}
        elif event == "event":
            response = {"diff": {"0": f"<img src=373x21-tab-{value['value']['tab']}.png>"}}
        answer = [join, ref, topic, "phx_reply", {"status": "ok", "response": response}]
        await write(frame(1, json.dumps(answer).encode()))


async def _acks(question: Question, write: Write, read: Read) -> None:
    """Acknowledge each event of a socket under the number that its client gave."""
    await upgrade(question, write)
    await write(frame(1, b'0{"sid":"s4","upgrades":[],"pingInterval":25000}'))
    while True:
        kind, payload = await heard(read)
        if kind == 8:
            return
        text = payload.decode()
        if text == "40":
            await write(frame(1, b'40{"sid":"s5"}'))
        elif text.startswith("42"):
            number, _, rest = text[2:].partition("[")
            name = json.loads("[" + rest)[1]["id"]
            await write(frame(1, f'43{number}[{{"src":"401x20-{name}.png"}}]'.encode()))


async def _events(_: Question, write: Write, read: Read) -> None:
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    for number in range(3):
        await asyncio.sleep(0.2)
        await write(f"event: word\nid: {number}\ndata: event {number}\n\n".encode())


async def _reconnected(question: Question, write: Write, read: Read) -> None:
    """Send one event, and after it the one behind the event that the client names."""
    last = question.headers.get("last-event-id", "0")
    if last == "2":
        await write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        return
    number = int(last) + 1
    await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    await write(f"retry: 200\nid: {number}\ndata: event {number}\n\n".encode())


ANSWERS: Final[Answers] = {
    "websocket": {"socket": Raw(_socket)},
    "socket-bytes": {"socket": Raw(_bytes_socket)},
    "graphql-socket": {"graphql": Raw(_graphql_socket)},
    "engine-upgrade": {
        "engine/": _engine,
        "socket/": Raw(_engine_socket),
    },
    "numbered-socket": {"echo/*": Raw(_sockjs)},
    "live-view": {"live/websocket": Raw(_live_view)},
    "socket-acks": {"socket.io/": Raw(_acks)},
    "server-events": {"events": Raw(_events)},
    "events-again": {"events": Raw(_reconnected)},
}
