"""Which addresses PDF documents give, and that hostile ones end."""

from __future__ import annotations

import io
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    TextStringObject,
)
from support.processes.waiting import until

from browsers.links import pdf
from browsers.links.documents import Links, links_of, may_have_links

URL = "https://site.test/papers/a.pdf"
PDF = {"content-type": "application/pdf"}


def found(data: bytes, content_type: str = "application/pdf", url: str = URL) -> list[str]:
    links = links_of(url, 200, {"content-type": content_type}, data).links
    assert {(link.hop, link.context) for link in links} <= {("L", "pdf/@URI")}
    return [link.url for link in links]


def document(*addresses: str, pages: int = 2, password: str = "", packed: bool = False) -> bytes:
    """A PDF that has each address as a link on one of its pages."""
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(200, 200)
    for number, address in enumerate(addresses):
        writer.add_annotation(number % pages, Link(rect=(0, 0, 9, 9), url=address))
    if password:
        writer.encrypt("", password, algorithm="AES-256")
    told = io.BytesIO()
    writer.write(told)
    return told.getvalue() if not packed else with_packed_objects(told.getvalue())


def with_packed_objects(data: bytes) -> bytes:
    """The bytes of an object stream in front of a cross-reference stream, as newer programs write them."""
    reader = PdfReader(io.BytesIO(data))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Annots[4 0 R]>>",
        b"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI("
        + str(reader.pages[0]["/Annots"][0]["/A"]["/URI"]).encode()
        + b")>>>>",
    ]
    places, at = [], 0
    for each in objects:
        places.append(at)
        at += len(each) + 1
    index = b" ".join(b"%d %d" % (number + 1, place) for number, place in enumerate(places)) + b" "
    packed = zlib.compress(index + b"\n".join(objects))
    out = bytearray(b"%PDF-1.5\n")
    stream_at = len(out)
    out += b"5 0 obj\n<</Type/ObjStm/N 4/First %d/Length %d/Filter/FlateDecode>>\nstream\n" % (len(index), len(packed))
    out += packed + b"\nendstream\nendobj\n"
    xref_at = len(out)
    packed_rows = b"".join(b"\2" + (5).to_bytes(4) + bytes([number]) for number in range(4))
    rows = bytes(6) + packed_rows + b"".join(b"\1" + at.to_bytes(4) + b"\0" for at in (stream_at, xref_at))
    out += b"6 0 obj\n<</Type/XRef/Size 7/W[1 4 1]/Root 1 0 R/Length %d>>\nstream\n" % len(rows)
    out += rows + b"\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n" % xref_at
    return bytes(out)


def test_links_of_pages_are_links() -> None:
    addresses = ("https://site.test/a", "http://other.test/b?c=1", "mailto:x@site.test", "../up.html", "www.w.test/x")

    assert found(document(*addresses, pages=1)) == [
        "https://site.test/a",
        "http://other.test/b?c=1",
        "https://site.test/up.html",
        "http://www.w.test/x",
    ]


def test_bookmarks_and_further_actions_are_read() -> None:
    writer = PdfWriter()
    page = writer.add_blank_page(99, 99)
    uri = {NameObject("/S"): NameObject("/URI"), NameObject("/URI"): TextStringObject("https://site.test/second")}
    first = {NameObject("/S"): NameObject("/Named"), NameObject("/Next"): DictionaryObject(uri)}
    page[NameObject("/Annots")] = ArrayObject(
        [DictionaryObject({NameObject("/A"): DictionaryObject(first)}), NumberObject(3)]
    )
    mark = writer.add_outline_item(title="x", page_number=0)
    held = mark.get_object()
    assert isinstance(held, DictionaryObject)
    held[NameObject("/A")] = DictionaryObject(uri | {NameObject("/URI"): TextStringObject("https://site.test/mark")})
    told = io.BytesIO()
    writer.write(told)

    assert found(told.getvalue()) == ["https://site.test/second", "https://site.test/mark"]


def test_a_file_that_only_its_owner_may_change_is_read() -> None:
    assert found(document("https://site.test/a", password="owner")) == ["https://site.test/a"]


def test_links_in_compressed_objects_are_found_even_when_the_end_is_missing() -> None:
    data = document("https://site.test/packed", packed=True)

    assert b"site.test" not in data
    assert found(data) == ["https://site.test/packed"]
    assert found(data[: data.index(b"endstream") + 9]) == ["https://site.test/packed"]


def test_a_cut_file_gives_the_links_of_its_beginning() -> None:
    data = document("https://site.test/a", "https://site.test/b(c)")
    cut = data[: data.index(b"7 0 obj") + 60]

    assert found(cut) == ["https://site.test/a"]


@pytest.mark.parametrize(
    ("content_type", "url", "expected"),
    [
        ("application/pdf", "https://site.test/x", True),
        ("application/octet-stream", "https://site.test/x.pdf", True),
        ("text/plain", "https://site.test/x", True),
        ("text/html", "https://site.test/x.pdf", False),
    ],
)
def test_a_pdf_is_known_by_its_content(content_type: str, url: str, expected: bool) -> None:
    assert bool(found(document("https://site.test/a"), content_type, url)) is expected
    assert may_have_links(URL, {"content-type": "application/pdf"})


def test_a_file_without_addresses_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_CHILD", "/does/not/exist")

    assert links_of(URL, 200, PDF, document()) == Links()


LOOPS = {
    "pages that are their own kids": b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>",
    "pages without end": b"<</Type/Pages/Kids[2 0 R]/Count 999999999>>",
    "deep array": b"<</Type/Pages/Kids" + b"[" * 100_000,
    "deep dictionary": b"<</Type/Pages/Kids" + b"<</A" * 100_000,
    "many quotes": b"(" * 1_000_000,
    "escapes": b"(" + b"\\(" * 1_000_000,
    "comments": b"%\n" * 500_000,
    "reference to itself": b"2 0 R",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_hostile_file_ends_and_gives_what_its_bytes_show(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "SECONDS", 5)
    data = (
        b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R/Outlines 1 0 R/First 1 0 R/Next 1 0 R/URI(https://site.test/a)>>\n"
        b"endobj\n2 0 obj\n"
        + LOOPS[name]
        + b"\nendobj\ntrailer<</Root 1 0 R/Size 99999999/Prev 9>>\nstartxref\n9\n%%EOF\n"
    )

    assert found(data) == ["https://site.test/a"]


def test_a_reader_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow, told = tmp_path / "slow.py", tmp_path / "told"
    slow.write_text(
        f"print('\"https://site.test/first\"', flush=True)\nopen({str(told)!r}, 'w').close()\nwhile True: pass\n"
    )

    class SlowReader(subprocess.Popen[bytes]):
        """Its time begins when it has told an address."""

        def communicate(self, input: bytes | None = None, timeout: float | None = None) -> Any:
            if timeout is not None:
                until(told.exists, what="the first address")
            return super().communicate(input, timeout)

    monkeypatch.setattr(pdf, "_CHILD", slow)
    monkeypatch.setattr(pdf, "SECONDS", 1)
    monkeypatch.setattr(pdf.subprocess, "Popen", SlowReader)

    result = links_of(URL, 200, PDF, b"%PDF-1.4 /URI")

    assert [link.url for link in result.links] == ["https://site.test/first"]
    assert result.annotations == ("pdf-unread",)


def test_a_bomb_of_streams_is_bounded() -> None:
    packed = zlib.compress(bytes(50_000_000) + b"/URI(https://site.test/late)", 9)
    stream = b"<</Type/ObjStm/N 1/First 1/Length %d/Filter/FlateDecode>>\nstream\n" % len(packed)

    assert found(b"%PDF-1.5\n" + (stream + packed + b"\nendstream\n") * 200) == []


def test_a_machine_without_room_for_a_process_searches_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/does/not/exist")

    result = links_of(URL, 200, PDF, b"%PDF-1.4 /URI (https://site.test/a)")

    assert ([link.url for link in result.links], result.annotations) == (["https://site.test/a"], ("pdf-unread",))
