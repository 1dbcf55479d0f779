"""Replay offers players the variants of a stream that were captured.

A player chooses a variant by the speed of the network, so that it may ask for one that was never captured. In a master
playlist of HLS (RFC 8216 section 4.3.4) the nearest captured variant stands in the place of each other one, so that the
number of variants stays. In a manifest of DASH (ISO/IEC 23009-1), representations of which nothing was captured are
left out of sets that have captured ones. A playlist of which every variant was captured, or none, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from urllib.parse import urljoin

from proxy.replay.edits import Edit

_LONGEST: Final = 262_144
"""Bytes of a playlist that is changed. One with variants is a few kilobytes long."""
_MOST_VARIANTS: Final = 64
"""Variants that are looked for in the index; with more, the playlist stays as it is."""
_HLS: Final = frozenset(("application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl"))
_IS_HLS: Final = re.compile("\\ufeff?#EXTM3U")
_DASH: Final = "application/dash+xml"
_VARIANT: Final = re.compile(
    r"^(#EXT-X-STREAM-INF:[^\r\n]*\r?\n(?:#(?!EXT-X-STREAM-INF)[^\r\n]*\r?\n){0,20})([^#\r\n][^\r\n]*)", re.MULTILINE
)
_HLS_BANDWIDTH: Final = re.compile(r"[:,]BANDWIDTH=([0-9]{1,15})")
_SET: Final = re.compile(r"<AdaptationSet\b.*?</AdaptationSet\s*>", re.DOTALL)
_REPRESENTATION: Final = re.compile(r"<Representation\b(?:[^<>]*/>|[^<>]*>.*?</Representation\s*>)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"""\b(id|bandwidth|media|initialization)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_BASE: Final = re.compile(r"<BaseURL\b[^<>]*>([^<>]*)</BaseURL")
_TEMPLATE: Final = re.compile(r"<SegmentTemplate\b[^<>]*>")
_LATER: Final = re.compile(r"\$(?:Number|Time|SubNumber)\b.*", re.DOTALL)
_ENTITIES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))

type IsCaptured = Callable[[str, bool], bool]
"""Says whether a URL was captured, or with True, any URL that begins with it."""


class _Variant(NamedTuple):
    start: int
    end: int
    bandwidth: int
    is_captured: bool


def is_playlist(mime: str | None, url: str) -> bool:
    """Return whether a response may be a playlist of HLS or a manifest of DASH."""
    path = url.partition("?")[0].partition("#")[0].lower()
    return mime in _HLS or mime == _DASH or path.endswith((".m3u8", ".mpd"))


def playlist_edit(url: str, is_captured: IsCaptured) -> Edit:
    """Return the edit of the playlist at that URL."""

    def edit(content: bytes) -> bytes | None:
        if len(content) > _LONGEST:
            return None
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return None
        try:
            changed = _hls(text, url, is_captured) if _IS_HLS.match(text) else _dash(text, url, is_captured)
        except ValueError:  # an address in the playlist is none
            return None
        return changed.encode() if changed != text else None

    return edit


def _hls(text: str, url: str, has: IsCaptured) -> str:
    found = list(_VARIANT.finditer(text))
    if not 1 < len(found) <= _MOST_VARIANTS:
        return text
    variants = [
        _Variant(*each.span(), _number(_HLS_BANDWIDTH.search(each[1])), has(urljoin(url, each[2].strip()), False))
        for each in found
    ]
    return _replaced(text, variants, lambda other: text[other.start : other.end])


def _dash(text: str, url: str, is_captured: IsCaptured) -> str:
    if max(text.count("<Representation"), text.count("<AdaptationSet")) > _MOST_VARIANTS:
        return text
    base = _joined(url, _BASE.search(_SET.sub("", text)))
    return _SET.sub(lambda found: _dash_set(found[0], base, is_captured), text)


def _dash_set(text: str, base: str, is_captured: IsCaptured) -> str:
    around = _REPRESENTATION.sub("", text)
    base, shared = _joined(base, _BASE.search(around)), _TEMPLATE.search(around)
    variants: list[_Variant] = []
    for each in _REPRESENTATION.finditer(text):
        beginning = _beginning(each[0], base, shared[0] if shared else "")
        if beginning is None:
            return text
        variants.append(_Variant(*each.span(), 0, is_captured(*beginning)))
    return _replaced(text, variants, lambda _: "")


def _beginning(text: str, base: str, shared: str) -> tuple[str, bool] | None:
    """Return the URL of a representation, and whether it is the beginning of those of its segments.

    Return None when nothing tells the representation from the others.
    """
    own = {name: _plain(first or second) for name, first, second in _ATTRIBUTE.findall(text.partition(">")[0])}
    address, template = _BASE.search(text), _TEMPLATE.search(text)
    inherited = template[0] if template else shared
    if not inherited:
        return (_joined(base, address), False) if address else None
    names = {name: _plain(first or second) for name, first, second in _ATTRIBUTE.findall(inherited)}
    media = names.get("media", "").replace("$RepresentationID$", own.get("id", ""))
    media = _LATER.sub("", media.replace("$Bandwidth$", own.get("bandwidth", "")))
    if template is None and address is None and media == _LATER.sub("", names.get("media", "")):
        return None
    return urljoin(_joined(base, address), media), True


def _replaced(text: str, variants: Sequence[_Variant], instead: Callable[[_Variant], str]) -> str:
    captured = [each for each in variants if each.is_captured]
    if not captured or len(captured) == len(variants):
        return text
    parts, at = [], 0
    for each in variants:
        nearest = min(captured, key=lambda other: abs(other.bandwidth - each.bandwidth))
        parts += [text[at : each.start], text[each.start : each.end] if each.is_captured else instead(nearest)]
        at = each.end
    return "".join([*parts, text[at:]])


def _number(found: re.Match[str] | None) -> int:
    return int(found[1]) if found else 0


def _joined(base: str, found: re.Match[str] | None) -> str:
    return urljoin(base, _plain(found[1].strip())) if found else base


def _plain(text: str) -> str:
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text
