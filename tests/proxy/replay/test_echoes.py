"""Values that a client makes up: how they are found in two requests, and how an answer repeats the asked ones."""

from __future__ import annotations

import json

import pytest

from proxy.replay.matching.echoes import Echo, echo, echoes_between, repeated, template

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER_UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def test_a_message_that_differs_in_its_identifier_alone_gives_an_echo() -> None:
    recorded, asked = (f'{{"id":"{each}","type":"subscribe","query":"leaf"}}' for each in (UUID, OTHER_UUID))

    assert template(recorded) == template(asked)
    assert echoes_between(recorded, asked) == [Echo(UUID, OTHER_UUID)]


def test_a_name_within_a_json_text_within_another_gives_an_echo() -> None:
    names = ("7kQx2mNpR4tUvWxYz", "4pLm8nBvC3xZaSdFg")
    recorded, asked = (json.dumps([json.dumps({"msg": "sub", "id": name})]) for name in names)

    assert echoes_between(recorded, asked) == [Echo(*names)]


def test_a_message_with_another_question_gives_no_echo() -> None:
    assert echoes_between(f'{{"id":"{UUID}","query":"leaf"}}', f'{{"id":"{OTHER_UUID}","query":"bark"}}') == []


@pytest.mark.parametrize("content", [b'{"draw": 5, "data": [5, 55]}', b'{"data": [5, 55],"draw":"5"}'])
def test_a_counter_is_repeated_as_the_member_of_its_name_alone(content: bytes) -> None:
    changed = repeated(content, [Echo("5", "2", "draw")])

    assert changed == content.replace(b'"draw": 5', b'"draw": 2').replace(b'"draw":"5"', b'"draw":"2"')


def test_a_long_value_is_repeated_wherever_it_stands() -> None:
    changed = repeated(f"<a id={UUID}>{UUID}</a>".encode(), [Echo(UUID, OTHER_UUID)])

    assert changed == f"<a id={OTHER_UUID}>{OTHER_UUID}</a>".encode()


def test_an_answer_that_repeats_nothing_is_left_as_it_is() -> None:
    assert repeated(b'{"drawn": 5}', [Echo("5", "2", "draw"), Echo(UUID, OTHER_UUID)]) is None
    assert repeated(b"leaf", []) is None


def test_two_values_that_are_exchanged_do_not_follow_each_other() -> None:
    changed = repeated(b"aaaaaaaa1 bbbbbbbb2", [Echo("aaaaaaaa1", "bbbbbbbb2"), Echo("bbbbbbbb2", "aaaaaaaa1")])

    assert changed == b"bbbbbbbb2 aaaaaaaa1"


def test_a_short_value_without_a_name_is_no_echo() -> None:
    assert echo("", "5", "2") is None
    assert echo("draw", "5", "5") is None
    assert echo("draw", "5", "2") == Echo("5", "2", "draw")
