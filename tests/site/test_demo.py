"""The demo's own judgement: which pages count as the same, what is removed, and what a leak would look like."""

from __future__ import annotations

import gzip
import io
import socket
from pathlib import Path

import pytest
from demo import MARK, Look, fresh
from demo_looks import CHANNEL_TOLERANCE, compare, read_views
from demo_replay import tripwire
from PIL import Image
from support.processes.machine_needs import free_port

SIZE = (100, 100)


def picture(shade: int, *, spots: int = 0, spot: int = 0, size: tuple[int, int] = SIZE) -> bytes:
    """A grey PNG, its first `spots` pixels in another shade."""
    image = Image.new("RGB", size, (shade, shade, shade))
    for number in range(spots):
        image.putpixel((number % size[0], number // size[0]), (spot, spot, spot))
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def write_view(file: Path, url: str, body: bytes) -> None:
    """Appends one resource record, compressed by itself, as WARC files have them."""
    fields = {
        "WARC-Type": "resource",
        "WARC-Record-ID": "<urn:uuid:16da6da0-bcdc-49c3-927e-57494593dddd>",
        "WARC-Date": "2026-05-01T06:00:00Z",
        "WARC-Target-URI": f"urn:view:{url}",
        "Content-Type": "image/png",
        "Content-Length": str(len(body)),
    }
    head = "WARC/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    with file.open("ab") as stream:
        stream.write(gzip.compress(head.encode() + body + b"\r\n\r\n"))


@pytest.mark.parametrize(
    ("after", "off", "is_match"),
    [
        (picture(200), 0, True),
        (picture(200 + CHANNEL_TOLERANCE), 0, True),
        (picture(200 + CHANNEL_TOLERANCE + 1), 10_000, False),
        (picture(200, spots=10, spot=0), 10, True),
        (picture(200, spots=11, spot=0), 11, False),
        (picture(200, size=(100, 99)), 100, False),
    ],
    ids=["equal", "within tolerance", "all off", "few off", "too many off", "shorter"],
)
def test_pages_are_the_same_within_the_stated_tolerance(after: bytes, off: int, is_match: bool) -> None:
    likeness = compare(picture(200), after)

    assert (likeness.off, likeness.pixels, likeness.is_match) == (off, 10_000, is_match)


def test_the_last_view_of_a_url_counts(tmp_path: Path) -> None:
    write_view(tmp_path / "a.warc.gz", "http://www.garden.test/", b"early")
    write_view(tmp_path / "b.warc.gz", "http://www.garden.test/", b"late")
    write_view(tmp_path / "b.warc.gz", "http://www.garden.test/plants/", b"plants")

    assert read_views(tmp_path) == {"http://www.garden.test/": b"late", "http://www.garden.test/plants/": b"plants"}


def test_the_wire_counts_whoever_connects() -> None:
    port = free_port()
    with tripwire([port]) as wire:
        before = wire.touched()
        socket.create_connection(("127.0.0.1", port), timeout=10).close()
        after = wire.touched()

    assert (before, after) == (0, 1)


def test_a_page_without_one_of_its_pictures_is_missing() -> None:
    look = Look("http://www.garden.test/", None)

    assert not look.is_match
    assert "missing" in look.cells()[1]


def test_a_demo_removes_only_what_a_demo_made(tmp_path: Path) -> None:
    home = fresh(tmp_path / "demo")
    (home / "old.warc.gz").touch()

    assert [path.name for path in fresh(home).iterdir()] == [MARK]


def test_a_demo_leaves_other_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()

    with pytest.raises(SystemExit, match="not empty"):
        fresh(tmp_path)
    assert (tmp_path / "thesis.txt").exists()
