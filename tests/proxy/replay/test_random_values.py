"""A random parameter under a name that no rule knows: told by its value, and by the captures beside it."""

from __future__ import annotations

import random
import secrets
import string
from collections.abc import Iterator

import pytest
from support.archive.foreign_warcs import http
from support.archive.imported_collection import ImportedShelf, made

from archive.settings.load import Settings
from proxy.replay.matching.random_values import alphabet_of
from proxy.replay.matching.visits import PageLoad

FRAME = "http://player.example/frame"


@pytest.fixture
def shelf(settings: Settings) -> Iterator[ImportedShelf]:
    with ImportedShelf(settings) as opened:
        yield opened


def keep(shelf: ImportedShelf, *queries: tuple[str, bytes], date: str = "2026-03-04T05:06:07Z") -> None:
    parts = [made("response", f"{FRAME}?{query}", http(body), date=date)[0] for query, body in queries]
    shelf.take(*parts, name=f"{secrets.token_hex(4)}.warc.gz")


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ("embedId=8f3a91c0&x=1", "embedId=b07d42ee&x=1"),
        ("embedId=k3j9x2m1q0&x=1", "embedId=7pw0zr41a8d&x=1"),
        ("frameKey=V1StGXR8_Z5jdHi6B-myT", "frameKey=3t8LkqPz0RrWa5nXy7dQc"),
        ("nav_id=0x1f&vcx=lq2x8k31a9", "nav_id=0x1f&vcx=mz81qpw40d"),
        ("a9=4c2f81d9b7&b7=9931ab4cde", "a9=11d0e8f2c5&b7=07bb42aa9f"),
    ],
)
def test_another_random_value_gets_the_one_capture(shelf: ImportedShelf, recorded: str, asked: str) -> None:
    keep(shelf, (recorded, b"the frame"))

    assert shelf.ask(f"{FRAME}?{asked}") is None, "nothing similar was asked for"
    assert shelf.ask(f"{FRAME}?{asked}", takes_similar=True) == (200, b"the frame")
    assert shelf.ask(f"{FRAME}?{asked}", takes_similar=True, page=PageLoad(f"{FRAME}?{asked}")) is None


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ("embedId=8f3a91c0&x=1", "embedId=b07d42ee&x=2"),
        ("embedId=8f3a91c0", "otherId=b07d42ee"),
        ("video_id=dq4w9wgxcq1", "video_id=9bzkp7q19f0"),
        ("part=chapter1", "part=chapter2"),
        ("season=winter2024", "season=summer2023"),
        ("view=10000001", "view=10000002"),
        ("embedId=8f3a91c0", "embedId=summerdays"),
    ],
)
def test_what_is_not_random_or_not_alone_is_no_answer(shelf: ImportedShelf, recorded: str, asked: str) -> None:
    keep(shelf, (recorded, b"the frame"))

    assert shelf.ask(f"{FRAME}?{asked}", takes_similar=True) is None


def test_two_payloads_of_one_visit_answer_nothing_and_of_two_visits_the_nearest(shelf: ImportedShelf) -> None:
    asked = f"{FRAME}?embedId=b07d42ee"
    keep(shelf, ("embedId=8f3a91c0", b"one"))
    keep(shelf, ("embedId=44d1c92f", b"later"), date="2026-05-04T05:06:07Z")

    assert shelf.ask(asked, takes_similar=True) == (200, b"later")
    assert shelf.ask(f"{FRAME}?embedId=8f3a91c0", takes_similar=True) == (200, b"one"), "an exact capture is first"

    keep(shelf, ("embedId=e2a90b11", b"two"), date="2026-05-04T05:06:09Z")
    assert shelf.ask(asked, takes_similar=True) is None


def test_random_texts_look_random_and_words_do_not() -> None:
    small = string.ascii_lowercase + string.digits
    drawn = random.Random(7)
    made_up = ["".join(drawn.choices(small, k=12)) for _ in range(500)] + [drawn.randbytes(8).hex() for _ in range(500)]
    words = ["introduction", "user-settings", "chapter12", "20260304", "version-2", "aaaaaaaa1111", "1600x900"]

    assert sum(bool(alphabet_of(each)) for each in made_up) > 850
    assert [each for each in words if alphabet_of(each)] == []
