"""This module finds texts that look like URLs in scripts. Pure, and linear in the length of the text.

The rule is that of Heritrix's ExtractorJS: a text between two equal quotes, which holds a dot or a slash, is a guess if
its form is very likely that of a URL. These forms are taken, after escapes such as `\\/` and `\\u002F` are resolved:

| form | example |
|---|---|
| absolute, with a host name or an IPv4 address | `https://site.test/a`, `//site.test/a`, `www.site.test/a` |
| a path from the root | `/photos/2024` |
| a relative path to a file with a known ending | `photos/a.jpg`, `../menu.js`, `page.php?id=3` |

Heritrix also takes relative paths without a known ending. Most of these are media types, names of classes or parts of
sentences, so they are left out here. Left out are also names of XML namespaces, templates with braces, keys of objects
that are relative paths, modules of `require()`, and texts that the script puts together by `+` and that are not whole.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from browsers.links.collector import LinkCollector

MAX_SCRIPT: Final = 8_000_000
"""Characters of scripts that are searched in one document."""
MAX_TEXTS: Final = 100_000
"""Texts between quotes that are looked at in one script."""
MAX_GUESS: Final = 2_000
"""Longest text that is looked at. Heritrix's limit is nearly the same."""

_QUOTES: Final = "\"'`"
_QUOTED: Final = re.compile(
    rf"(?<=([{_QUOTES}]))(?=[^\s{_QUOTES}<>{{}}|^./]{{0,{MAX_GUESS}}}[./])"
    rf"[^\s{_QUOTES}<>{{}}|^]{{2,{MAX_GUESS}}}+(?=\1)"
)
"""A text between equal quotes, without spaces, with a dot or a slash. A text has no quote, so texts do not overlap."""
_WRITTEN_QUOTE: Final = re.compile(r"u002([27])|&quot;|&#0{0,5}3[49];")
_SLASH: Final = re.compile(r"\\{1,8}/")
_ESCAPE: Final = re.compile(r"\\{1,8}(?:u00|x)([0-9a-fA-F]{2})")
_SCHEME_IN_PERCENT: Final = re.compile(r"https?%3A", re.I)
_BARE_HOST: Final = re.compile(r"www\d?\.[\w-]++(?:\.[\w-]++)++(?:[/?:]|$)", re.I)

_AFTER: Final = r"(?:\?[^\s?#<>{}|^]*+)?(?:#[^\s#<>{}|^]*+)?"
_ABSOLUTE: Final = re.compile(
    r"(?:https?:)?//(?:(?:[\w-]++\.)++[a-z][\w-]++|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?:[/?#][^\s<>{}|^]*+)?",
    re.I,
)
_SEGMENT: Final = r"[\w.~%@!,+=&;$()-]"
_ROOTED: Final = re.compile(rf"/(?:{_SEGMENT}++/)*+{_SEGMENT}*+{_AFTER}")
_RELATIVE: Final = re.compile(rf"(?:\.{{1,2}}/)*+(?:[\w~%@+-][\w.~%@+-]*+/)*+([\w~%@+-][\w.~%@+-]*+){_AFTER}")
_WORD: Final = re.compile(r"[^\W\d_]{2}|\d{3}")
_BAD_ENDS: Final = ("=", "&", "?", ",", ";", ":", "+", "%", ".", "-", "$", "(", "\\")
_VOCABULARY: Final = re.compile(
    r"(?:https?:)?//(?:www\.w3\.org/(?:\d{4}/|ns/|tr/|xml/)|schema\.org|ns\.adobe\.com|schemas\.|purl\.org|xmlns\.com"
    r"|json-schema\.org|ogp\.me|rdfs?\.|sitemaps\.org|www\.sitemaps\.org|www\.google\.com/schemas|search\.yahoo\.com/mrss"
    r"|www\.itunes\.com/dtds|a9\.com/-/spec|web\.resource\.org|(?:www\.)?example\.(?:com|org|net))",
    re.I,
)
"""Addresses that are names of namespaces and examples, and that no page shows."""
_OF_PROGRAMS: Final = re.compile(r"%(?![0-9a-fA-F]{2})|/\.(?!well-known/|\.?/)[^/]")
"""Marks of texts that are formatted (`%s`), and of hidden files."""
_OTHER_CODE: Final = ("node_modules/", "webpack/")
_FILES: Final = """
    asp aspx cfm cgi htm html jhtml jsp jspx php php3 php4 php5 phtml shtml xhtml
    css js json mjs rss atom webmanifest xml xsl txt
    7z csv doc docx epub gz ics jar odp ods odt pdf ppt pptx ps rar rtf swf tar tgz vcf xls xlsx zip
    avif bmp cur gif ico jpe jpeg jpg jp2 png svg tif tiff webp
    aac avi flac flv m3u8 m4a m4v mov mp3 mp4 mpd mpeg mpg oga ogg ogv opus vtt wav webm wma wmv
    eot otf ttf woff woff2 wasm
"""
_ENDINGS: Final = frozenset(_FILES.split())
"""Endings of file names by which a relative path is known."""
_CODE: Final = frozenset(("js", "json", "mjs"))
"""Endings that names of programs have, too, such as Node.js. Names of files in lower case are taken."""
_REQUIRE: Final = re.compile(r"\brequire(?:\.resolve)?\($")
"""A module that a bundler has put into the same file, or that only a server can load."""
_IMPORT: Final = re.compile(r"(?:\bfrom|\bimport|\bimport\s?\()\s{0,3}$")


def collect(found: LinkCollector, script: str, context: str, *, own: str | None = None) -> None:
    """Add the guesses of a script. Modules that the script imports are resolved against `own`, its own URL."""
    if not found.takes_guesses:
        return
    text = script[:MAX_SCRIPT]
    if "u002" in text or "&" in text:
        text = _WRITTEN_QUOTE.sub(_quote, text)
    for number, quoted in enumerate(_QUOTED.finditer(text)):
        if number >= MAX_TEXTS:
            found.dropped += 1
            return
        reference = likely(quoted[0])
        if reference is None:
            continue
        start, end = quoted.start() - 1, quoted.end() + 1
        before, after = text[max(start - 20, 0) : start].rstrip(), text[end : end + 4].lstrip()
        if _is_whole(reference, before[-1:], after[:1]) and not _REQUIRE.search(before):
            found.guess(reference, context, base=own if own and _IMPORT.search(before) else None)


def likely(text: str) -> str | None:
    """Return the reference in a text that is very likely a URL, without escapes; None for another text."""
    text = text.rstrip("\\")
    if "\\" in text:
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), _SLASH.sub("/", text))
    text = text.replace("&amp;", "&").strip()
    if _SCHEME_IN_PERCENT.match(text):
        text = unquote(text)
    if not 2 <= len(text) <= MAX_GUESS or "\\" in text or text.endswith(_BAD_ENDS) or _OF_PROGRAMS.search(text):
        return None
    if _BARE_HOST.match(text):
        text = f"http://{text}"
    return text if is_absolute(text) or _is_rooted(text) or _is_file(text) else None


def is_absolute(text: str) -> bool:
    """Return whether a text is an absolute URL, with or without scheme, and no name of a namespace."""
    return bool(_ABSOLUTE.fullmatch(text)) and not _VOCABULARY.match(text)


def is_address(text: str) -> bool:
    """Return whether a text is an absolute URL or a path from the root."""
    return is_absolute(text) or _is_rooted(text)


def _is_rooted(text: str) -> bool:
    return text[1:2] != "/" and bool(_ROOTED.fullmatch(text)) and bool(_WORD.search(text.partition("?")[0]))


def _is_file(text: str) -> bool:
    """Return whether a text is a relative path to a file with a known ending."""
    match = _RELATIVE.fullmatch(text)
    if match is None or any(part in text for part in _OTHER_CODE):
        return False
    stem, dot, ending = match[1].rpartition(".")
    if not dot or ending.lower() not in _ENDINGS or not stem:
        return False
    return "/" in text or ending.lower() not in _CODE or stem[0].islower() or stem[0].isdigit()


def _is_whole(reference: str, before: str, after: str) -> bool:
    """Return whether a text is a URL by itself: the script adds nothing to it, and it is no key of an object.

    `before` and `after` are the characters around the text. A path from the root may be a key, as in lists of pages.
    """
    is_relative = not reference.startswith(("/", "http"))
    is_key = after == ":" and before in ("{", ",")
    if after == "+" or (is_key and is_relative):
        return False
    if before != "+" or is_absolute(reference):
        return True
    return not is_relative and (reference.count("/") > 1 or "." in reference)


def _quote(match: re.Match[str]) -> str:
    return "'" if match[1] == "7" or "39" in match[0] else '"'
