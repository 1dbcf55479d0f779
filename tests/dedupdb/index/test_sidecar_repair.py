"""A sidecar that is not whole is written anew from its WARC, whatever is the matter with it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.archive.exchanges import DATE, exchange, keep, response
from support.archive.foreign_warcs import http
from support.archive.imported_collection import made

from archive.capture import OWN_BUCKET, Capture, Original
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.writing.writer import WarcWriter
from dedupdb.index.sidecar_repair import RepairedSidecar, SidecarOutcome, repair_sidecars

CAPTURES = 12


def _archived(settings: Settings) -> WarcWriter:
    """A file of responses, revisits and answers to HEAD and POST, each with its request."""
    writer = WarcWriter(settings, "news")
    first = keep(writer, exchange("/first"))
    for number in range(2, CAPTURES):
        keep(writer, exchange(f"/page?number={number}", response(b"%d" % number), started=DATE + number))
    keep(writer, exchange("/again", started=DATE + 99), Original(first.record_id, first.url, first.date))
    return writer


def _repaired(settings: Settings) -> RepairedSidecar:
    (repaired,) = repair_sidecars(settings.collection("news"))
    return repaired


def _closed(settings: Settings) -> tuple[Path, Path]:
    """The WARC and its sidecar."""
    _archived(settings).close()
    (warc,) = settings.archive_dir("news").iterdir()
    return warc, settings.index_dir("news") / f"{warc.name}.cdxj"


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_whole_sidecar_stays_as_it_is(settings: Settings, compression: str) -> None:
    chosen = settings.archive.model_copy(update={"compression": compression})
    _, sidecar = _closed(settings.model_copy(update={"archive": chosen}))
    before = sidecar.stat()

    assert _repaired(settings).outcome is SidecarOutcome.WHOLE
    assert sidecar.stat().st_ino == before.st_ino


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "forty bytes of zeros": lambda text: text[:700] + bytes(40) + text[740:],
    "forty letters": lambda text: text[:700] + b"X" * 40 + text[740:],
    "a missing first line": lambda text: text.partition(b"\n")[2],
    "a missing last line": lambda text: text[: text.rstrip(b"\n").rfind(b"\n") + 1],
    "half of it": lambda text: text[: len(text) // 2],
    "nothing": lambda text: b"",
    "another URL": lambda text: text.replace(b'"url":"http://example.org/first', b'"url":"http://example.org/worst', 1),
    "another offset": lambda text: text.replace(b'"offset":"', b'"offset":"1', 1),
    "a garbled digest": lambda text: text.replace(b'"digest":"', b'"digest":"!', 1),
    "a field without its name": lambda text: text.replace(b'"sha256"', b'"sha652"', 1),
    "a line torn at its end": lambda text: text[:-9],
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_sidecar_that_is_not_whole_is_written_anew(settings: Settings, spoil: Callable[[bytes], bytes]) -> None:
    _, sidecar = _closed(settings)
    whole = sidecar.read_bytes()
    sidecar.write_bytes(spoil(whole))
    assert sidecar.read_bytes() != whole

    assert _repaired(settings).outcome is SidecarOutcome.REBUILT
    assert sidecar.read_bytes() == whole
    assert _repaired(settings).outcome is SidecarOutcome.WHOLE


def test_forty_spoilt_bytes_anywhere_lose_no_capture(settings: Settings) -> None:
    """T8: the lines that they hit were dropped."""
    _, sidecar = _closed(settings)
    whole = sidecar.read_bytes()
    for seed in range(20):
        chance = random.Random(seed)
        start = chance.randrange(len(whole) - 40)
        sidecar.write_bytes(whole[:start] + chance.randbytes(40) + whole[start + 40 :])

        assert _repaired(settings).outcome is SidecarOutcome.REBUILT, seed
        assert sidecar.read_bytes() == whole, seed


def test_lines_behind_a_damage_of_the_warc_stay(settings: Settings) -> None:
    warc, sidecar = _closed(settings)
    lines, data = sidecar.read_bytes().splitlines(keepends=True), bytearray(warc.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3] = b"???"
    warc.write_bytes(data)
    sidecar.write_bytes(b"".join(line for line in lines if not line.startswith(b"org,example)/first")))

    repaired = _repaired(settings)

    assert repaired.outcome is SidecarOutcome.INCOMPLETE
    assert "the WARC can't be read from" in repaired.reason
    assert sidecar.read_bytes().splitlines(keepends=True) == lines


def _of_another_program(settings: Settings, count: int) -> tuple[Path, dict[str, Capture]]:
    """The path of the sidecar that a file of another program will have, and its captures by id."""
    warc = settings.archive_dir("news") / "foreign.warc"
    warc.parent.mkdir(parents=True)
    parts = (made("response", f"http://example.org/{number}", http(b"%d" % number))[0] for number in range(count))
    warc.write_bytes(b"".join(parts))
    settings.index_dir("news").mkdir()
    captures = {each.record_id: each for each in cdxj.captures_of(warc, "news")}
    return settings.index_dir("news") / f"{warc.name}.cdxj", captures


def test_what_was_no_original_becomes_none(settings: Settings) -> None:
    sidecar, captures = _of_another_program(settings, 3)
    original, refused, unknown = captures
    captures[refused] = replace(captures[refused], buckets=())
    cdxj.write_sorted(sidecar, [cdxj.line(captures[each]) for each in (original, refused)])

    assert _repaired(settings).outcome is SidecarOutcome.REBUILT

    assert {each.record_id: each.buckets for each in cdxj.read(sidecar, "news")} == {
        original: OWN_BUCKET,
        refused: (),
        unknown: (),
    }


def test_a_line_of_what_was_cut_off_goes_and_is_told(settings: Settings) -> None:
    warc, sidecar = _closed(settings)
    warc.write_bytes(warc.read_bytes()[:-1000])

    repaired = _repaired(settings)

    assert repaired.outcome is SidecarOutcome.INCOMPLETE
    assert "captures are behind the end of the WARC" in repaired.reason
    assert 0 < sidecar.read_bytes().count(b"\n") < CAPTURES


def test_the_sidecar_of_a_live_writer_is_left_to_it(settings: Settings) -> None:
    writer = _archived(settings)
    writer.sync()
    (sidecar,) = settings.index_dir("news").iterdir()
    try:
        assert _repaired(settings).outcome is SidecarOutcome.WHOLE
        whole = sidecar.read_bytes()
        sidecar.write_bytes(whole.replace(b'"url":"http://example.org/first', b'"url":"http://example.org/worst', 1))
        spoilt = sidecar.read_bytes()

        assert _repaired(settings).outcome is SidecarOutcome.INCOMPLETE
        assert sidecar.read_bytes() == spoilt

        sidecar.write_bytes(b"")
        repaired = _repaired(settings)
        assert repaired.outcome is SidecarOutcome.INCOMPLETE
        assert "its records have no lines; the WARC is being written" in repaired.reason
    finally:
        writer.close()


def test_a_link_that_leads_nowhere_keeps_no_other_file_back(settings: Settings) -> None:
    warc, sidecar = _closed(settings)
    nowhere = warc.with_name("a.warc.gz")
    nowhere.symlink_to("gone.warc.gz")
    sidecar.with_name(f"{nowhere.name}.cdxj").write_bytes(b"")
    sidecar.unlink()

    dangling, rebuilt = repair_sidecars(settings.collection("news"))

    assert (dangling.filename, dangling.outcome) == (nowhere.name, SidecarOutcome.INCOMPLETE)
    assert "can't be used: No such file" in dangling.reason
    assert (rebuilt.filename, rebuilt.outcome) == (warc.name, SidecarOutcome.REBUILT)


def test_damaged_lines_of_a_file_that_is_elsewhere_are_told(settings: Settings) -> None:
    warc, sidecar = _closed(settings)
    warc.unlink()
    assert _repaired(settings).outcome is SidecarOutcome.WHOLE

    sidecar.write_bytes(SPOILT["forty letters"](sidecar.read_bytes()))
    repaired = _repaired(settings)
    assert repaired.outcome is SidecarOutcome.INCOMPLETE
    assert "is damaged; the WARC is not in the home, so it can't be read instead" in repaired.reason
