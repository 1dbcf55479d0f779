"""The forms of messages: Umbra's and ours, and messages that can't be used."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.intake.messages import MessageRefused, read_message
from frontier.definition.scope import Candidate, Priority
from frontier.packing import pack

LONGEST = 262_144
UMBRA: dict[str, Any] = {
    "url": "https://analytics.example.org/0.gif?x=1",
    "method": "GET",
    "headers": {"Referer": "https://example.org/page", "User-Agent": "Mozilla/5.0"},
    "parentUrl": "https://example.org/page",
    "parentUrlMetadata": {
        "pathFromSeed": "LL",
        "heritableData": {"source": "https://example.org/", "heritable": ["source", "heritable"]},
    },
}


def read(message: object) -> Candidate:
    return read_message(json.dumps(message).encode(), LONGEST).candidate


def refusal(body: bytes) -> str:
    with pytest.raises(MessageRefused) as found:
        read_message(body, LONGEST)
    text = str(found.value)
    assert "\n" not in text
    return text


def test_a_message_of_umbra_is_an_embed_of_its_page_that_comes_early() -> None:
    assert read(UMBRA) == Candidate(
        "https://analytics.example.org/0.gif?x=1",
        hop_path="LLE",
        via="https://example.org/page",
        source="https://example.org/",
        depth=2,
        priority=Priority.HIGH,
    )


def test_a_message_of_umbra_may_name_its_hop_and_ask_for_another_visit() -> None:
    found = read({**UMBRA, "hop": "L", "forceFetch": True})

    assert (found.hop_path, found.depth, found.priority, found.force) == ("LLL", 3, Priority.STANDARD, True)


def test_a_seed_of_umbra_is_a_new_seed() -> None:
    found = read_message(json.dumps({**UMBRA, "isSeed": True}).encode(), LONGEST)

    assert found.is_new_seed
    assert (found.candidate.hop_path, found.candidate.depth, found.candidate.is_seed) == ("", 0, True)


def test_a_message_of_ours_needs_a_url_alone() -> None:
    assert read({"url": "HTTP://Example.ORG"}) == Candidate("http://example.org/", hop_path="L", depth=1)


def test_a_message_of_ours_has_all_its_keys_taken() -> None:
    message = {"url": "http://example.org/b", "priority": "high", "force": True, "via": "http://example.org/a"}

    found = read({**message, "source": "http://example.org/"})

    assert (found.priority, found.force, found.via) == (Priority.HIGH, True, "http://example.org/a")
    assert found.source == "http://example.org/"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"url": "mailto:x@example.org"}, "the url can't be used"),
        ({"url": "http://example.org/", "prioritaet": "high"}, "prioritaet = 'high' can't be used"),
        ({"url": "http://example.org/", "priority": "top"}, "priority = 'top' can't be used"),
        ({"url": 7}, "url = '7' can't be used"),
        ({}, "url"),
        ([], "the message is no JSON object"),
        ({**UMBRA, "parentUrl": "\ud800"}, r"parentUrl = '\ud800' can't be used"),
        ({**UMBRA, "method": "POST"}, "the method is 'POST'"),
        ({**UMBRA, "parentUrlMetadata": {"pathFromSeed": "a b"}}, "pathFromSeed = 'a b' is no hop path"),
        ({**UMBRA, "parentUrlMetadata": {"heritableData": []}}, "parentUrlMetadata.heritableData"),
    ],
)
def test_a_message_that_can_not_be_used_says_why(message: object, why: str) -> None:
    assert why in refusal(json.dumps(message).encode())


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe\x00", b"[" * LONGEST, b'{"url":' * 30_000, b"9" * 200_000, b"x" * (LONGEST + 1)],
)
def test_hostile_messages_are_refused_at_once(body: bytes) -> None:
    began = time.process_time()

    refusal(body)

    assert time.process_time() - began < 5, "a message may not cost more than its bytes"


def test_a_long_hop_path_stays_short() -> None:
    found = read({**UMBRA, "parentUrlMetadata": {"pathFromSeed": "L" * 1_000}})

    assert len(found.hop_path) < 60


@given(st.text(alphabet=st.characters(categories=("Cs", "Cc", "L", "P"))))
def test_whatever_a_message_says_of_its_seed_can_be_stored(text: str) -> None:
    found = read({**UMBRA, "parentUrlMetadata": {"heritableData": {"source": text}}})

    assert pack(found).encode()


@given(st.text())
def test_every_refusal_is_text_that_can_be_sent(text: str) -> None:
    assert refusal(json.dumps({"url": "http://example.org/", f"x{text}": text}).encode()).encode()
