"""This module finds the addresses in PDF documents: of annotations (links), bookmarks and their actions.

pypdf reads the file, in a process of its own (`browsers.links.pdf_child`), since a file can keep a reader busy for
hours, or make it use much memory. The process is ended after `SECONDS`. The addresses of a file that pypdf can't read,
or of which only the beginning is known, are searched for in its bytes and in its compressed objects.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from browsers.links import guesses
from browsers.links.collector import LinkCollector

TYPES: Final = frozenset(("application/pdf", "application/x-pdf", "text/pdf"))
SECONDS: Final = 20
"""Longest time for reading one file."""
AT_ONCE: Final = 2
"""Files that are read at the same time by one process of the crawler."""
MAX_INFLATED: Final = 8_000_000
"""Bytes of compressed objects that are searched when pypdf can't read a file."""
MAX_STREAMS: Final = 500
"""Compressed streams that are looked at in such a file."""
_MAX_STREAM: Final = 1_000_000
_CONTEXT: Final = "pdf/@URI"
_UNREAD: Final = "pdf-unread"
_MAGIC: Final = b"%PDF-"
_HEAD: Final = 1024
_MAY_HAVE: Final = (b"/URI", b"ObjStm", b"/GoToR", b"/Launch", b"/SubmitForm")
"""A file without any of these has no addresses; compressed objects may hide them."""
_CHILD: Final = Path(__file__).with_name("pdf_child.py")
_PLACES: Final = threading.BoundedSemaphore(AT_ONCE)
_URI: Final = re.compile(rb"/URI\s{0,20}(?:\(((?:[^()\\]|\\.){1,4096}+)\)|<([0-9a-fA-F\s]{2,8192}+)>)", re.S)
_ESCAPE: Final = re.compile(rb"\\([0-7]{1,3}|\r\n|.)", re.S)
_STREAM: Final = re.compile(rb"/ObjStm\b[^>]{0,400}>>\s{0,20}stream\r?\n")


def is_pdf(data: bytes) -> bool:
    """Return whether the bytes are those of a PDF, whose mark is near the beginning."""
    return _MAGIC in data[:_HEAD]


def collect(found: LinkCollector, data: bytes) -> str | None:
    """Add the addresses of a document, which are links that a reader follows.

    Return a note for crawl.log when the file could not be read whole.
    """
    if not any(mark in data for mark in _MAY_HAVE):
        return None
    with _PLACES:
        addresses, note = _read(data)
    if not addresses:
        addresses = list(_searched(data))
    for address in addresses:
        if address.lower().startswith(("http://", "https://", "/", "./", "../")):
            found.add(address, "L", _CONTEXT)
        else:  # such as www.site.test, which readers of PDF accept
            found.add(guesses.likely(address), "L", _CONTEXT)
    return note


def _read(data: bytes) -> tuple[list[str], str | None]:
    """Return the addresses that pypdf finds in time, and a note when it does not come to its end."""
    command = [sys.executable, "-I", str(_CHILD), str(SECONDS)]
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:  # the machine has no room for another process
        return [], _UNREAD
    with child:
        try:
            told, _ = child.communicate(data, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            told, _ = child.communicate()
    addresses = []
    for line in told.split(b"\n"):
        try:
            addresses.append(str(json.loads(line)))
        except ValueError:
            continue  # the last line of a process that was ended
    return addresses, _UNREAD if child.returncode else None


def _searched(data: bytes) -> Iterator[str]:
    """Yield the addresses that stand in the bytes of a file, or in its compressed objects."""
    yield from _written(data)
    room, whole = MAX_INFLATED, memoryview(data)
    for number, stream in enumerate(_STREAM.finditer(data)):
        if number >= MAX_STREAMS or room <= 0:
            return
        try:
            inflated = zlib.decompressobj().decompress(whole[stream.end() : stream.end() + _MAX_STREAM], room)
        except zlib.error:
            continue
        room -= len(inflated)
        yield from _written(inflated)


def _written(data: bytes) -> Iterator[str]:
    for match in _URI.finditer(data):
        if match[1] is not None:
            text = _ESCAPE.sub(_unescaped, match[1])
        else:
            digits = b"".join(match[2].split())
            text = bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))
        yield text.decode("utf-8", "replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    text = match[1]
    if text[:1].isdigit():
        return bytes([int(text, 8) & 255]) if text.isdigit() and b"8" not in text and b"9" not in text else text
    return b"" if text in (b"\n", b"\r", b"\r\n") else text
