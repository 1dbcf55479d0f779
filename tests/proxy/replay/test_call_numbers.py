"""Running numbers of messages: where they stand, how two messages differ by them, and how an answer is renumbered."""

from __future__ import annotations

import json

import pytest

from proxy.replay.call_numbers import changes, numbered, renumbered


@pytest.mark.parametrize(
    ("recorded", "asked", "answer", "expected"),
    [
        (
            '["4","7","lv:1","event",{"tab":"b"}]',
            '["4","5","lv:1","event",{"tab":"b"}]',
            '["4","7","lv:1","phx_reply",{"n":"7"}]',
            ["4", "5", "lv:1", "phx_reply", {"n": "7"}],
        ),
        ('{"id":3,"method":"get"}', '{"id":1,"method":"get"}', '{"id":3,"result":3}', {"id": 1, "result": 3}),
        ('{"ref":"12","op":"sub"}', '{"op":"sub","ref":"9"}', '{"ref":"12"}', {"ref": "9"}),
    ],
)
def test_an_answer_gets_the_number_that_is_asked_with(recorded: str, asked: str, answer: str, expected: object) -> None:
    found = renumbered(answer, changes(recorded, asked))

    assert found is not None
    assert json.loads(found) == expected


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ('{"id":3,"page":1}', '{"id":1,"page":2}'),
        ('{"id":3,"page":1}', '{"id":3,"page":2}'),
        ('["4","7","event"]', '["4","7","event"]'),
        ('["4","7","event"]', '["4","7","event","8"]'),
        ('{"id":true}', '{"id":false}'),
        ("42", "43"),
        ("[" * 70_000, "[" * 70_000 + "1"),
        ("[" * 5_000, "[" * 5_001),
    ],
)
def test_messages_that_differ_in_other_things_give_no_changes(recorded: str, asked: str) -> None:
    assert changes(recorded, asked) == {}


def test_an_acknowledgement_gets_the_number_that_is_asked_with() -> None:
    found = changes('422["room",{"id":"yew"}]', '420["room",{"id":"yew"}]')

    assert renumbered('432[{"src":"2"}]', found) == '430[{"src":"2"}]'
    assert renumbered("43/chat,2[1]", {("ack", "2"): "0"}) == "43/chat,0[1]"
    assert renumbered("433[1]", found) is None


def test_a_message_without_a_running_number_has_none() -> None:
    assert numbered('{"page": 2, "name": "leaf"}') is None
    assert renumbered('{"id": 4}', {("id", 3): 1}) is None
