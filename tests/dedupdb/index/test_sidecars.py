"""Sidecars are taken in once, as they grow, and again when they are other than they were."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.archive.capture_rows import capture

from archive.capture import Capture
from archive.warc import cdxj
from dedupdb.captures import query as queries
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import SidecarMark, Sidecars

NAME = capture().filename


@pytest.fixture
def captures(tmp_path: Path) -> Iterator[Captures]:
    with Captures(f"sqlite:///{tmp_path / 'index.db'}") as index:
        yield index


@pytest.fixture
def sidecars(home: Path, captures: Captures) -> Sidecars:
    return Sidecars(home, captures)


@pytest.fixture
def path(home: Path) -> Path:
    folder = home / "collections" / "news" / "indexes"
    folder.mkdir(parents=True)
    return folder / f"{NAME}.cdxj"


def line(offset: int, **changed: object) -> str:
    return cdxj.line(capture(f"http://example.org/{offset}", offset=offset, **changed)) + "\n"


def write(path: Path, text: str, mode: str = "a") -> None:
    with path.open(mode, encoding="utf-8", newline="") as file:
        file.write(text)


def known(captures: Captures) -> list[int]:
    return sorted(each.offset for each in everything(captures))


def everything(captures: Captures, collection: str = "news") -> list[Capture]:
    return list(captures.search(queries.parse(collection, {"url": "*.org"})))


def test_lines_are_taken_in_as_the_sidecar_grows(sidecars: Sidecars, captures: Captures, path: Path) -> None:
    assert sidecars.reconcile() == 0
    write(path, line(1) + line(2))
    assert sidecars.reconcile() == 2
    write(path, line(3))
    assert (sidecars.reconcile(), sidecars.reconcile()) == (1, 0)
    assert known(captures) == [1, 2, 3]


def test_a_torn_last_line_waits_for_its_end(sidecars: Sidecars, captures: Captures, path: Path) -> None:
    whole = line(2)
    write(path, line(1) + whole[:40])
    assert sidecars.reconcile() == 1
    write(path, whole[40:])
    assert sidecars.reconcile() == 1
    assert known(captures) == [1, 2]


def test_a_sidecar_sorted_and_replaced_adds_nothing(sidecars: Sidecars, captures: Captures, path: Path) -> None:
    lines = [line(9), line(1), line(5)]
    write(path, "".join(lines))
    assert sidecars.reconcile() == 3
    cdxj.write_sorted(path, [each.rstrip() for each in lines])
    assert sidecars.reconcile() == 0
    assert known(captures) == [1, 5, 9]
    write(path, line(7))
    assert sidecars.reconcile() == 1


def test_lines_that_a_repair_took_away_leave_the_index_too(sidecars: Sidecars, captures: Captures, path: Path) -> None:
    write(path, line(1) + line(2) + line(3))
    captures.add([capture(filename="other.warc.gz", offset=8)])
    sidecars.reconcile()
    cdxj.write_sorted(path, [line(1).rstrip(), line(2).rstrip()])
    sidecars.reconcile()
    assert known(captures) == [1, 2, 8]


@pytest.mark.parametrize("is_read_before", [True, False], ids=["a sidecar that was read", "a sidecar that is new"])
def test_a_record_that_was_written_anew_has_its_new_length(
    sidecars: Sidecars, captures: Captures, path: Path, is_read_before: bool
) -> None:
    """A repair was killed between the files and the index: the mended record could not be read any more."""
    lines = line(1, length=211) + line(212, length=50)
    if is_read_before:
        write(path, lines)
        assert sidecars.reconcile() == 2
        path.unlink()
    else:
        captures.add(cdxj.parse(each, "news") for each in lines.splitlines())
    write(path, line(1, length=244) + line(245, length=50))
    assert sidecars.reconcile() == 2
    assert sidecars.reconcile() == 0
    assert {each.length for each in everything(captures) if each.offset == 1} == {244}
    assert 245 in known(captures)


@pytest.mark.parametrize("grown", ["", line(4), line(4) + line(5) + line(6)], ids=["shorter", "as long", "longer"])
def test_a_sidecar_cut_back_in_place_is_read_again(
    sidecars: Sidecars, captures: Captures, path: Path, grown: str
) -> None:
    write(path, line(1) + line(2) + line(3))
    sidecars.reconcile()
    os.truncate(path, len(line(1)) + len(line(2)))
    write(path, grown)
    sidecars.reconcile()
    write(path, line(7))
    sidecars.reconcile()
    assert known(captures) == [1, 2, *[4, 5, 6][: grown.count("\n")], 7]


def test_a_stop_half_way_through_a_replaced_sidecar_leaves_it_to_be_read_again(
    sidecars: Sidecars, captures: Captures, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, line(1) + line(2))
    sidecars.reconcile()
    cdxj.write_sorted(path, [line(2).rstrip(), line(3).rstrip()])
    with monkeypatch.context() as patched:
        patched.setattr(captures, "prune", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sidecars.reconcile()
    sidecars.reconcile()
    assert known(captures) == [2, 3]


def test_an_announced_capture_whose_line_is_not_read_yet_stays(
    sidecars: Sidecars, captures: Captures, path: Path
) -> None:
    captures.add([capture("http://example.org/1", offset=1)])
    write(path, "")
    sidecars.reconcile()
    assert known(captures) == [1]


def test_an_index_of_many_files_is_no_reason_to_drop_captures(
    sidecars: Sidecars, captures: Captures, path: Path
) -> None:
    together = path.with_name("index.cdxj")
    write(together, line(1) + line(2, filename="other.warc.gz"))
    write(path, line(1) + line(3))
    sidecars.reconcile()
    cdxj.write_sorted(together, [line(1).rstrip()])
    sidecars.reconcile()
    assert known(captures) == [1, 2, 3]


@pytest.mark.parametrize(
    "bad",
    [
        "nonsense\n",
        "org,example)/ 20260101000000 {\n",
        "org,example)/ 20260101000000 {}\n",
        "\xff\n",
        "\n",
        "!OpenWayback-CDXJ 1.0\n",
        line(2, filename="../../../etc/passwd"),
        line(2, filename="/etc/passwd"),
        line(2, filename="http://example.org/x.warc.gz"),
        line(2, filename=".."),
        line(2, filename="a\\b"),
        line(2, sha256="x" * 64),
        line(2, length=-1),
        line(2).replace('"321"', "Infinity"),
        "org,example)/ 20260101000000 " + "[" * 100_000 + "\n",
    ],
)
def test_a_bad_line_is_left_out_and_the_others_are_taken_in(
    sidecars: Sidecars, captures: Captures, path: Path, bad: str
) -> None:
    path.write_bytes(line(1).encode() + bad.encode("latin-1" if "\xff" in bad else "utf-8") + line(3).encode())
    assert sidecars.reconcile() == 2
    assert known(captures) == [1, 3]


def test_a_large_sidecar_is_read_in_pieces(sidecars: Sidecars, captures: Captures, path: Path) -> None:
    write(path, "".join(line(number) for number in range(6000)))
    assert path.stat().st_size > 2**21
    assert sidecars.reconcile() == 6000
    assert sidecars.reconcile() == 0


def test_what_was_announced_is_not_taken_for_what_another_line_says_in_its_url(
    sidecars: Sidecars, captures: Captures, path: Path
) -> None:
    """Announced captures' lines are told by their place alone, and a URL may look like one."""
    captures.add([capture("http://example.org/1", offset=1)])
    lookalike = f'http://example.org/?","length":"321","offset":"1","filename":"{NAME}"'
    elsewhere = line(1, filename="other.warc.gz")
    write(path, line(1) + cdxj.line(capture(lookalike, offset=2)) + "\n" + elsewhere + line(3))
    assert sidecars.reconcile() == 3
    assert sorted((each.filename, each.offset) for each in everything(captures)) == [
        *((NAME, offset) for offset in (1, 2, 3)),
        ("other.warc.gz", 1),
    ]


def test_one_collection_is_read_alone(sidecars: Sidecars, captures: Captures, home: Path, path: Path) -> None:
    other = home / "collections" / "sports" / "indexes"
    other.mkdir(parents=True)
    write(other / f"{NAME}.cdxj", line(1))
    write(path, line(1))
    assert sidecars.reconcile("sports") == 1
    assert captures.collections() == ["sports"]
    assert sidecars.reconcile() == 1


def test_what_was_reset_is_read_again(sidecars: Sidecars, captures: Captures, path: Path) -> None:
    write(path, line(1) + line(2))
    sidecars.reconcile()
    before = everything(captures)
    captures.add([capture(filename="vanished.warc.gz")])
    assert sidecars.reset("news") == 3
    assert everything(captures) == []
    assert sidecars.reconcile() == 2
    assert everything(captures) == before


def test_a_mark_survives_being_written() -> None:
    assert SidecarMark.read(str(SidecarMark(5, 6, 7))) == SidecarMark(5, 6, 7)


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.floats() | st.lists(st.text(), max_size=1)
NAMES = st.sampled_from(
    [
        "url",
        "mime",
        "status",
        "digest",
        "length",
        "offset",
        "filename",
        "id",
        "date",
        "size",
        "method",
        "kind",
        "job",
        "page",
        "sha256",
        "truncated",
        "payload_mime",
        "refers_to",
        "refers_to_url",
        "refers_to_date",
    ]
)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_line_keeps_the_others_out(
    sidecars: Sidecars, captures: Captures, path: Path, changed: dict[str, object]
) -> None:
    sidecars.reset("news")
    key, timestamp, said = line(2).split(" ", 2)
    odd = json.dumps(json.loads(said) | changed)
    path.write_text(f"{line(1)}{key} {timestamp} {odd}\n{line(3)}", "utf-8")
    sidecars.reconcile()
    assert {1, 3} <= {each.offset for each in everything(captures)}


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "tear", "repair", "sort", "cut", "read"]), st.integers(1, 5)), max_size=25
)


@given(STEPS)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_to_a_sidecar_the_index_says_what_it_says(
    sidecars: Sidecars, captures: Captures, path: Path, steps: list[tuple[str, int]]
) -> None:
    sidecars.reset("news")
    lines: list[str] = []
    offset, torn = 0, ""
    path.write_text("")
    for step, number in steps:
        if step == "read":
            sidecars.reconcile()
            continue
        if step == "append" and not torn:
            added = [line(offset + each) for each in range(number)]
            offset += number
            lines += added
            write(path, "".join(added))
        elif step == "tear" and not torn:
            torn = line(offset)
            offset += 1
            write(path, torn[: 10 * number])
            torn_at = 10 * number
        elif step == "repair" and torn:
            write(path, torn[torn_at:])
            lines, torn = [*lines, torn], ""
        elif step == "sort" and not torn:
            cdxj.write_sorted(path, [each.rstrip() for each in lines])
            lines = sorted(lines)
        elif step == "cut":
            lines, torn = lines[:-number], ""
            os.truncate(path, sum(map(len, lines)))
    sidecars.reconcile()
    expected = [cdxj.parse(each, "news") for each in lines]
    assert sorted(known(captures)) == sorted(each.offset for each in expected)
