"""This module finds the parts of a film that a DASH manifest (MPD, ISO/IEC 23009-1) names. Pure.

The manifest is read by expat while its elements come, so that the beginning of a broken one gives its parts. Templates
are expanded to the segments of the film, within bounds: the first representation of each adaptation set comes first, so
that a film that is too long to be taken whole can be played in one quality.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final
from xml.parsers import expat

from browsers.links.collector import LinkCollector
from browsers.links.tags import MAX_NAME

TYPES: Final = frozenset(("application/dash+xml", "video/vnd.mpeg.dash.mpd"))
ROOT: Final = "mpd"
MAX_REPRESENTATIONS: Final = 200
MAX_SEGMENTS: Final = 20_000
"""Segments of all representations together."""
MAX_SEGMENTS_OF_ONE: Final = 10_000
_ATTRIBUTES: Final = ("media", "initialization", "bitstreamSwitching", "startNumber", "timescale", "duration")
_MAX_NUMBER: Final = 1 << 53
_MAX_TEXT: Final = 4_096
_LEVELS: Final = ("MPD", "Period", "AdaptationSet", "Representation")
_INHERITED: Final = ("SegmentTemplate", "SegmentList", "SegmentBase")
_DURATION: Final = re.compile(
    r"P(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})D)?"
    r"(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:\.\d{1,12})?)S)?)?"
)
_FIELD: Final = re.compile(r"\$(?:(RepresentationID|Number|Time|Bandwidth|SubNumber)(?:%0(\d{1,2})d)?)?\$")


class _Refused(Exception):
    """The manifest declares entities or default attributes, by which a few bytes become many."""


@dataclass(slots=True)
class _Level:
    """An element holds addresses and templates for the elements in it. `base` is the first BaseURL, resolved."""

    name: str
    base: str
    attributes: Mapping[str, str]
    template: dict[str, str] = field(default_factory=dict)
    timeline: list[tuple[int, int, int]] = field(default_factory=list)
    """Time, duration and repeats of the entries of a SegmentTimeline; a time of -1 is the end of the entry before."""
    has_segments: bool = False
    has_base: bool = False
    """The element has a BaseURL of its own."""


@dataclass(slots=True)
class _Representation:
    """A representation is one quality of a film. It has what it inherits from the elements around it."""

    rank: int
    """Place among the representations of its adaptation set."""
    base: str
    identity: str
    bandwidth: str
    template: Mapping[str, str]
    timeline: Sequence[tuple[int, int, int]]
    seconds: float
    """Duration of the period; 0 when it is unknown, as in live films."""
    is_file: bool
    """The base is the address of the whole film."""


class _Reader:
    """The reader keeps the open elements of a manifest, and collects what they name."""

    def __init__(self, found: LinkCollector) -> None:
        self._found = found
        self._open: list[_Level] = []
        self._text: list[str] | None = None
        self._ranks = 0
        self.representations: list[_Representation] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2][:MAX_NAME]
        href = attributes.get("xlink:href")
        if href and "resolve-to-zero" not in href:
            self._add(href, f"{local}/@xlink:href")
        if local in _LEVELS:
            self._enter(local, attributes)
        elif not self._open:
            return
        elif local in _INHERITED:
            known = {name: value for name, value in attributes.items() if name in _ATTRIBUTES}
            self._open[-1].template.update(known)
            self._open[-1].has_segments = local != "SegmentBase"
        elif local == "SegmentTimeline":
            self._open[-1].timeline = []
        elif local == "S":
            self._entry(attributes)
        elif local == "SegmentURL":
            self._open[-1].has_segments = True
            self._add(attributes.get("media"), "SegmentURL/@media")
            self._add(attributes.get("index"), "SegmentURL/@index")
        elif local in ("Initialization", "RepresentationIndex", "BitstreamSwitching"):
            self._add(attributes.get("sourceURL"), f"{local}/@sourceURL")
        elif local in ("BaseURL", "Location", "PatchLocation"):
            self._text = []

    def text(self, text: str) -> None:
        if self._text is not None and len(self._text) < 100:
            self._text.append(text[:_MAX_TEXT])

    def end(self, name: str) -> None:
        local = name.rpartition(":")[2]
        text, self._text = self._text, None
        if not self._open:
            return
        if text is not None and local in ("BaseURL", "Location", "PatchLocation"):
            self._address(local, "".join(text).strip())
        elif local == self._open[-1].name:
            if local == "Representation":
                self._keep()
            self._open.pop()

    def finish(self) -> None:
        """Keep the representation in which a broken manifest ends."""
        if self._open and self._open[-1].name == "Representation":
            self._keep()

    def _enter(self, local: str, attributes: Mapping[str, str]) -> None:
        while self._open and _LEVELS.index(self._open[-1].name) >= _LEVELS.index(local):
            self._open.pop()  # a level within itself or within a lower one, which no manifest has
        outer = self._open[-1] if self._open else None
        level = _Level(local, outer.base if outer else self._found.base, attributes)
        if outer is not None:
            level.template, level.timeline = dict(outer.template), outer.timeline
            level.has_segments = outer.has_segments
        if local == "AdaptationSet":
            self._ranks = 0
        self._open.append(level)

    def _address(self, local: str, text: str) -> None:
        level = self._open[-1]
        if local == "BaseURL" and text:
            outer = self._open[-2].base if len(self._open) > 1 else self._found.base
            if level.base == outer:  # the first one is what players take
                level.base, level.has_base = self._found.resolve(text, outer) or outer, True
        elif text:
            self._add(text, f"{local}/text()")

    def _entry(self, attributes: Mapping[str, str]) -> None:
        entries = self._open[-1].timeline
        if len(entries) < MAX_SEGMENTS_OF_ONE:
            entries.append(
                (_number(attributes.get("t"), -1), _number(attributes.get("d"), 0), _number(attributes.get("r"), 0))
            )

    def _keep(self) -> None:
        """Keep a representation whose end was read."""
        if len(self.representations) >= MAX_REPRESENTATIONS:
            self._found.dropped += 1
            return
        level = self._open[-1]
        period = next((each for each in self._open if each.name == "Period"), level)
        whole = next((each for each in self._open if each.name == "MPD"), level)
        seconds = _seconds(period.attributes.get("duration")) or _seconds(
            whole.attributes.get("mediaPresentationDuration")
        )
        self.representations.append(
            _Representation(
                rank=self._ranks,
                base=level.base,
                identity=level.attributes.get("id", ""),
                bandwidth=level.attributes.get("bandwidth", ""),
                template=level.template,
                timeline=level.timeline,
                seconds=seconds,
                is_file=level.has_base and not level.has_segments and "media" not in level.template,
            )
        )
        self._ranks += 1

    def _add(self, reference: str | None, context: str) -> None:
        self._found.add(reference, "E", context, base=self._open[-1].base if self._open else None)


def collect(found: LinkCollector, data: bytes) -> None:
    """Add what a manifest names: initialisations, segments, files of representations, and further parts of it."""
    reader = _Reader(found)
    parser = expat.ParserCreate(namespace_separator=None)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse
    parser.AttlistDeclHandler = _refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError, _Refused):
        reader.finish()
    room = MAX_SEGMENTS
    for one in sorted(reader.representations, key=lambda each: each.rank):
        if one.is_file:
            found.add(one.base, "E", "BaseURL/text()")
        for name in ("initialization", "bitstreamSwitching"):
            if template := one.template.get(name):
                _add(found, one, _filled(template, one), f"SegmentTemplate/@{name}")
        media = one.template.get("media")
        if not media:
            continue
        for number, time in islice(_segments(one), room):
            room -= 1
            _add(found, one, _filled(media, one, number, time), "SegmentTemplate/@media")
        if room <= 0:
            found.dropped += 1


def _add(found: LinkCollector, one: _Representation, reference: str, context: str) -> None:
    found.add(reference, "E", context, base=one.base)


def _segments(one: _Representation) -> Iterator[tuple[int, int]]:
    """Yield number and time of each segment of a representation, at most `MAX_SEGMENTS_OF_ONE`."""
    first = _number(one.template.get("startNumber"), 1)
    scale = _number(one.template.get("timescale"), 1) or 1
    if one.timeline:
        yield from islice(_of_timeline(one.timeline, first, int(one.seconds * scale)), MAX_SEGMENTS_OF_ONE)
        return
    duration = _number(one.template.get("duration"), 0)
    length = duration / scale
    count = min(-(-one.seconds // length), MAX_SEGMENTS_OF_ONE) if length > 0 else 1
    for place in range(max(int(count), 1)):
        yield first + place, place * duration


def _of_timeline(entries: Sequence[tuple[int, int, int]], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield number and time of the segments of a timeline. A repeat of -1 lasts to the next entry, or to the end."""
    number, now = first, 0
    for place, (time, duration, repeats) in enumerate(entries):
        now = time if time >= 0 else now
        if repeats < 0:
            until = entries[place + 1][0] if place + 1 < len(entries) else end
            repeats = (until - now) // duration - 1 if duration > 0 and until > now else 0
        for _ in range(max(min(repeats, MAX_SEGMENTS_OF_ONE), 0) + 1):
            yield number, now
            number, now = number + 1, now + duration


def _filled(template: str, one: _Representation, number: int | None = None, time: int | None = None) -> str:
    """Return the address that a template makes for a segment."""
    values = {"RepresentationID": one.identity, "Bandwidth": one.bandwidth, "SubNumber": "1"}

    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        value = {"Number": number, "Time": time}.get(match[1], values.get(match[1]))
        text = "" if value is None else str(value)
        return text.zfill(min(int(match[2]), 20)) if match[2] else text

    return _FIELD.sub(fill, template[:_MAX_TEXT])


def _number(text: str | None, otherwise: int) -> int:
    """Return a whole number of an attribute; `otherwise` for a text that is none, or too large."""
    if text is None or len(text) > 20:
        return otherwise
    try:
        number = int(text)
    except ValueError:
        return otherwise
    return number if -_MAX_NUMBER < number < _MAX_NUMBER else otherwise


def _seconds(text: str | None) -> float:
    """Return the seconds of a duration such as PT1H2M3.5S; 0 for none."""
    match = _DURATION.fullmatch(text or "")
    if match is None:
        return 0.0
    factors = (31_536_000, 2_592_000, 86_400, 3_600, 60, 1)
    return sum(float(part or 0) * factor for part, factor in zip(match.groups(), factors, strict=True))


def _refuse(*_: object) -> None:
    raise _Refused
