"""The reader of a PDF runs as a process of its own (`browsers.links.pdf`), which is ended when it takes too long.

The process reads the file from its standard input, and writes each address as a line of JSON, so that the addresses
found before its end are known. It imports no other module of the program.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import resource
import sys
from collections.abc import Iterator
from typing import Any, Final

from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject

MAX_PAGES: Final = 20_000
MAX_ANNOTATIONS: Final = 10_000
"""Annotations of one page that are looked at."""
MAX_ADDRESSES: Final = 10_000
MAX_ADDRESS: Final = 4_096
MAX_BOOKMARKS: Final = 10_000
_MEMORY: Final = 1 << 30
_UNREADABLE: Final = (Exception, RecursionError, MemoryError)
"""Errors of pypdf with a broken file; it raises many kinds, also AttributeError and TypeError."""


def main(seconds: int) -> None:
    """Write the addresses of the PDF on the standard input. The system ends the process after these seconds of CPU."""
    for kind, limit in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, _MEMORY)):
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):
            continue  # a system without this limit, or with a lower one
    logging.disable(logging.CRITICAL)
    for address in itertools.islice(addresses(sys.stdin.buffer.read()), MAX_ADDRESSES):
        sys.stdout.write(json.dumps(address[:MAX_ADDRESS]) + "\n")
        sys.stdout.flush()


def addresses(data: bytes) -> Iterator[str]:
    """Yield the addresses of the annotations of all pages, and of the bookmarks, as far as the file can be read."""
    try:
        reader = PdfReader(io.BytesIO(data))
        pages = iter(reader.pages)
    except _UNREADABLE:
        return
    for _ in range(MAX_PAGES):
        try:
            page = next(pages, None)
            annotations = [] if page is None else _list(page.get("/Annots"))
        except _UNREADABLE:
            continue
        if page is None:
            break
        for annotation in itertools.islice(annotations, MAX_ANNOTATIONS):
            yield from _of_annotation(annotation)
    yield from _of_bookmarks(reader)


def _of_annotation(annotation: Any) -> Iterator[str]:
    """Yield the addresses of an annotation or a bookmark: of its action, and of the actions that follow."""
    try:
        found = _dictionary(annotation)
        actions = [found.get("/A"), found.get("/PA"), *_dictionary(found.get("/AA")).values()]
        for action in actions[:20]:
            yield from _of_action(action)
    except _UNREADABLE:
        return


def _of_action(action: Any) -> Iterator[str]:
    for _ in range(10):  # an action may name a next one, and these may go round
        held = _dictionary(action)
        uri = held.get("/URI")
        if uri is not None:
            yield _text(uri)
        elif held.get("/S") in ("/GoToR", "/Launch", "/SubmitForm", "/ImportData"):
            file = _resolved(held.get("/F"))
            name = file.get("/UF") or file.get("/F") if isinstance(file, DictionaryObject) else file
            is_address = isinstance(file, DictionaryObject) and file.get("/FS") == "/URL"
            if name is not None and (is_address or _text(name)[:4].lower() == "http"):
                yield _text(name)
        action = held.get("/Next")
        if action is None:
            return


def _of_bookmarks(reader: PdfReader) -> Iterator[str]:
    """Yield the addresses of the bookmarks, each of which is read once."""
    try:
        catalog = _dictionary(reader.trailer.get("/Root"))
        waiting = [_dictionary(catalog.get("/Outlines")).raw_get("/First")]
    except _UNREADABLE:
        return
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < MAX_BOOKMARKS:
        reference = waiting.pop()
        place = (getattr(reference, "idnum", -1), getattr(reference, "generation", -1))
        if place in seen:
            continue
        seen.add(place)
        try:
            bookmark = _dictionary(reference)
            waiting += [bookmark.raw_get(name) for name in ("/Next", "/First") if name in bookmark]
        except _UNREADABLE:
            continue
        yield from _of_annotation(bookmark)


def _resolved(value: Any) -> Any:
    return value.get_object() if hasattr(value, "get_object") else value


def _dictionary(value: Any) -> DictionaryObject:
    found = _resolved(value)
    return found if isinstance(found, DictionaryObject) else DictionaryObject()


def _list(value: Any) -> list[Any]:
    found = _resolved(value)
    return list(found) if isinstance(found, ArrayObject) else []


def _text(value: Any) -> str:
    found = _resolved(value)
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)


if __name__ == "__main__":
    main(int(sys.argv[1]))
