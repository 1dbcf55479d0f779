"""A call number is the running number that a client gives to each of its messages, and that the answer repeats.

A reader who uses a page in another order than the ghost did sends the same messages under other numbers. So a message
stands for a recorded one that differs in its number alone, and the answer gets the number that is asked with. A number
is told by its place: it is a member of the message itself, in a list or under one of a few names. Numbers deeper in a
message, such as that of a page, are left alone. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from archive.json_text import compact_json

_NAMES: Final = frozenset(
    {
        *("id", "ref", "seq", "n", "mid", "msgid", "messageid", "message_id", "rid", "requestid", "request_id"),
        *("reqid", "callid", "call_id", "txid", "invocationid", "correlationid", "correlation_id", "echo"),
    }
)
_EVENT: Final = re.compile(r"(4[2356](?:[0-9]{1,3}-)?(?:/[^,\[]{0,64},)?)([0-9]{1,9})(?=\[)")
"""Beginning of an event of Socket.IO, or of its acknowledgement, with a number before its JSON text."""
_ACK: Final = "ack"
_LONGEST: Final = 65_536
"""Characters of a message that is read as JSON."""
_MOST_DIGITS: Final = 9
_MOST_PLACES: Final = 8
"""Members of a list that may be a number of a call."""

type Place = int | str
type Numbers = dict[Place, Any]


def numbered(text: str) -> tuple[str, Numbers] | None:
    """Return a message without its numbers, and the numbers by their places; None when it has none."""
    if (event := _EVENT.match(text)) is not None:
        return f"{event[1]}*{text[event.end() :]}", {_ACK: event[2]}
    message = _parsed(text)
    found: Numbers = {}
    if isinstance(message, list):
        found = {at: value for at, value in enumerate(message[:_MOST_PLACES]) if _is_number(value)}
        message = ["*" if at in found else value for at, value in enumerate(message)]
    elif isinstance(message, dict):
        found = {name: value for name, value in message.items() if name.lower() in _NAMES and _is_number(value)}
        message = {name: "*" if name in found else value for name, value in message.items()}
    return (json.dumps(message, sort_keys=True), found) if found else None


def changes(recorded: str, asked: str) -> dict[tuple[Place, Any], Any]:
    """Return the numbers by which two messages differ, by place and recorded number; none when more differs."""
    theirs, ours = numbered(recorded), numbered(asked)
    if theirs is None or ours is None or theirs[0] != ours[0] or theirs[1].keys() != ours[1].keys():
        return {}
    return {(place, value): ours[1][place] for place, value in theirs[1].items() if value != ours[1][place]}


def renumbered(text: str, numbers: Mapping[tuple[Place, Any], Any]) -> str | None:
    """Return an answer with the numbers that are asked with; None when it has none of the recorded ones."""
    if (event := _EVENT.match(text)) is not None:
        number = numbers.get((_ACK, event[2]))
        return None if number is None else f"{event[1]}{number}{text[event.end() :]}"
    message = _parsed(text) if numbers else None
    places: list[tuple[Place, Any]] = []
    if isinstance(message, list):
        places = list(enumerate(message[:_MOST_PLACES]))
    elif isinstance(message, dict):
        places = list(message.items())
    found = {place: numbers[place, value] for place, value in places if _is_number(value) and (place, value) in numbers}
    if not found or message is None:
        return None
    for place, value in found.items():
        message[place] = value
    return compact_json(message)


def _parsed(text: str) -> Any:
    if len(text) > _LONGEST or text[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**_MOST_DIGITS
