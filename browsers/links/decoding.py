"""This module finds the encoding of a document and decodes the document into text that is searched for links. Pure."""

from __future__ import annotations

import codecs
import re
from typing import Final

_META_CHARSET: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.I)
_XML_ENCODING: Final = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([a-zA-Z0-9_:.-]{1,40})", re.I)
_CSS_CHARSET: Final = re.compile(rb'^@charset "([a-zA-Z0-9_:.-]{1,40})";')
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CODECS: Final = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "utf-16-be": "unicodefffe utf-16be",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"
    " iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7"
    " iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-8859-8-i iso-ir-138"
    " iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 logical visual",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1"
    " iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
    " windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601"
    " windows-949",
}
"""Labels that browsers know (Encoding Standard section 4.2), by Python's name of the encoding.

Browsers read many labels as a larger encoding than the name says.
"""
_LABELS: Final = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}


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
        known = _LABELS.get((label or "").strip("\"' \t\r\n\f").lower())
        # Text in UTF-16 has zero bytes, unless it has no ASCII character. A label without them is wrong.
        if known and (not known.startswith("utf-16") or b"\x00" in body[:1024]):
            return known
    return "utf-8" if _is_utf8(body) else "windows-1252"


def text_of(body: bytes, encoding: str) -> str:
    """Return the text, unreadable bytes as U+FFFD, without byte order mark and NULs."""
    return body.decode(encoding, "replace").removeprefix("\ufeff").replace("\x00", "")


def _is_utf8(body: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True
