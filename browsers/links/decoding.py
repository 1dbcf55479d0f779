"""This module finds the encoding of a document and decodes the document into text that is searched for links. Pure."""

from __future__ import annotations

import codecs
import re
from typing import Final

_META_CHARSET: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.I)
_XML_ENCODING: Final = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([a-zA-Z0-9_:.-]{1,40})", re.I)
_CSS_CHARSET: Final = re.compile(rb'^@charset "([a-zA-Z0-9_:.-]{1,40})";')
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_OF_THE_WEB: Final = re.compile(
    r"utf-8|utf-16-[lb]e|iso8859-\d+|cp125\d|cp866|cp874|cp932|cp949|koi8-[ru]|mac-(roman|cyrillic)|gb18030|big5(hkscs)?"
    r"|euc_(jp|kr)|iso2022_jp"
)
"""Python's names of the encodings that browsers know; it has others, some of which aren't even encodings of text."""
_LABELS: Final = {
    "iso-8859-1": "windows-1252",
    "latin1": "windows-1252",
    "us-ascii": "windows-1252",
    "ascii": "windows-1252",
    "iso-8859-9": "windows-1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-sjis": "cp932",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "tis-620": "cp874",
    "unicode": "utf-16-le",
}
"""Labels that browsers read as a larger encoding than their name says (WHATWG Encoding Standard section 4.2)."""


def encoding_of(body: bytes, declared: str | None, kind: str = "html") -> str:
    """Return Python's name of the encoding of a text.

    The first of these decides: the byte order mark, `declared` (of the header), a declaration in the first 1,024 bytes,
    valid UTF-8. Else it is windows-1252, as in browsers.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    patterns = {"html": (_META_CHARSET, _XML_ENCODING), "css": (_CSS_CHARSET,)}.get(kind, (_XML_ENCODING,))
    matches = (pattern.search(body[:1024]) for pattern in patterns)
    inside = next((match[1].decode("ascii") for match in matches if match), None)
    if inside and inside.lower().startswith("utf-16"):
        inside = "utf-8"  # a declaration that could be read as ASCII can't be in UTF-16
    for label in (declared, inside):
        # Text in UTF-16 has zero bytes, unless it has no ASCII character. A label without them is wrong.
        if label and (known := _known(label)) and (not known.startswith("utf-16") or b"\x00" in body[:1024]):
            return known
    return "utf-8" if _is_utf8(body) else "windows-1252"


def text_of(body: bytes, encoding: str) -> str:
    """Return the text, unreadable bytes as U+FFFD, without byte order mark and NULs."""
    return body.decode(encoding, "replace").removeprefix("\ufeff").replace("\x00", "")


def _known(label: str) -> str | None:
    name = label.strip().strip("\"'").lower()
    try:
        found = codecs.lookup(_LABELS.get(name, name)).name
    except (LookupError, ValueError):
        return None
    return found if _OF_THE_WEB.fullmatch(found) else None


def _is_utf8(body: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True
