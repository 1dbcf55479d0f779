"""Records of queued URLs: what goes in comes out, and damage is noticed."""

from __future__ import annotations

import msgpack
import pytest

from frontier.definition.scope import Candidate, Priority
from frontier.packing import EndedVisit, pack, queue_score, unpack


@pytest.mark.parametrize(
    "candidate",
    [
        Candidate("http://example.org/"),
        Candidate("http://example.org/é\u2028", "LLE", "http://example.org/", "http://example.org/", 2),
        Candidate("http://example.org/", "LR", depth=1, cookies='[0,[["a","é"]]]'),
        Candidate("http://example.org/", is_seed=True, priority=Priority.HIGH, source="http://example.org/"),
    ],
)
def test_a_candidate_comes_back_as_it_was(candidate: Candidate) -> None:
    assert unpack(f"example.org\n7\n{pack(candidate)}".encode()) == candidate


@pytest.mark.parametrize(
    "record", [b"", b"a\n1\n", b"a\n1\n{", b"a\n1\n{}", b'a\n1\n["u",9]', b"a\n1\n[1,2,3,4,5,6,7,8,9]"]
)
def test_a_damaged_record_is_noticed(record: bytes) -> None:
    assert unpack(record) is None


def test_the_score_is_by_priority_then_depth() -> None:
    order = [
        Candidate("u", priority=Priority.SYSTEM, depth=9999),
        Candidate("u", priority=Priority.HIGH, depth=0),
        Candidate("u", priority=Priority.HIGH, depth=3),
        Candidate("u", depth=0),
    ]
    places = [queue_score(candidate) for candidate in order]
    assert places == sorted(set(places))
    assert all(number * 2**40 < 2**53 for number in places)


def test_the_end_of_a_visit_is_a_table_without_the_defaults() -> None:
    seed = "done\n302\nhttp://\ud800.test/\nhttp://a.test/"
    ended = EndedVisit("1", "token", "w", "a.test", "done", "200", is_try=False, spender=("a.test", ""), seed=seed)
    assert msgpack.unpackb(ended.packed(), unicode_errors="surrogatepass") == {
        **{"id": "1", "token": "token", "worker": "w", "host": "a.test", "ending": "done", "code": "200"},
        **{"is_try": False, "spender": ["a.test", ""], "seed": seed},
    }
