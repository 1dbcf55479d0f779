"""Replay finds the capture of a URL that differs from the asked one only in volatile parts, by rules.

The rules stand in `similar.toml`. Each step has a form of a URL's key. An answer is a capture whose form is the same:

1. without parameters that defeat caches or tell the reader's window, and with any name of a callback function;
2. with `*` for each value of a parameter that is a random number or an identifier, and `@` for each date;
3. with the same for the parts of the path, and for those that a protocol makes up;
4. without the parameters and parts of the path that tell the size and the quality, for pictures;
5. at another host of the same network, for everything but pages (`shards.py`);
6. without the query, for files such as images;
7. with the alphabet in the place of each value that looks random, under a name that stands for no content, when the
   captures of the nearest visit have one payload (`random_values.py`). Whole pages are never looked for in this way.

A page that asks for an address with today's date got another one when it was recorded. So a date stands for another one
when it is as many days from now as the other one is from its capture (`dates_in_urls.py`). One day more or less is the
time zone's.

The time of the visit may stand there in base 36 or 16, too, since no other value of that form is so near to it.

A value that only counts or names a call is left out, and its answer repeats the asked value (`echoes.py`).

For a body sent by POST or PUT, the names and values of the body are compared in the same way. When no body is the same,
the most similar one with at least half of its values counts. One read of the index has at most a few hundred rows.
"""

from __future__ import annotations

import binascii
import re
import tomllib
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final, Protocol
from urllib.parse import unquote_plus

from archive import url as urls
from archive.capture import Capture
from archive.dates import Micros, now_micros
from archive.warc.records.request_query import asked_key
from proxy.replay.matching.dates_in_urls import DATE_MARK, MARK, first_date, marked
from proxy.replay.matching.echoes import MOST, Echo, echo, echoes_between
from proxy.replay.matching.picture_paths import sized
from proxy.replay.matching.random_values import alphabet_of
from proxy.replay.matching.readable_bodies import binary, likeness, readable
from proxy.replay.matching.shards import shards

_ROWS: Final = 500
"""Index rows that are read for one form."""
_LONGEST: Final = 8_192
"""Characters of a URL's key that is looked for in other forms."""
_MOST_PARAMETERS: Final = 300
_ENOUGH: Final = 0.5
"""Part of a body that must be the same, when there are several bodies."""
_LONG: Final = 5
"""Digits of a number that is no number of a page."""
_LONGEST_VALUE: Final = 1_024
_LONGEST_TOKEN: Final = 2_048
_MOST_WORDS: Final = 20
_WORD: Final = re.compile(r"[^_.,;~-]{8,}")
_EPOCH: Final = re.compile(r"v?(1[0-9]{9})(?:[0-9]{6}|(?:[0-9]{3})?(?:\.[0-9]{1,12})?)")
"""Seconds, milliseconds or microseconds since 1970."""
_BASES: Final = (
    (re.compile("[0-9a-z]{8}"), 36, 1_000),
    (re.compile("[0-9a-f]{11}"), 16, 1_000),
    (re.compile("[0-9a-f]{8}"), 16, 1_000_000),
    (re.compile("[0-9a-f]{13}"), 16, 0),
)
"""Forms of the time in other bases, and how many microseconds one is: milliseconds, seconds, and PHP's `uniqid`."""
_SLOTS: Final = (10, 15, 30, 60, 300)
"""Seconds of the slots of time that pages number from 1970 on."""
_SLOT_NEAR: Final = 900
_DAY: Final = 86_400_000_000
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{12,1024}(?:=|%3[dD]){0,2}")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_DEFEATS_CACHES: Final = re.compile(
    r"(?:cb|cache-?bust(?:er)?|bust(?:er)?|no-?cache|rnd|rand(?:om)?|nonce)[-_=.:](?=[^0-9]{0,40}[0-9])[0-9a-z]{6,40}",
    re.IGNORECASE,
)
"""A part of a path that says that it only keeps caches from answering."""
_RANDOM: Final = re.compile(r"(?=(?:[^0-9]{0,12}[0-9]){2})(?=(?:[^a-z]{0,12}[a-z]){2})[0-9a-z]{9,13}")
"""The form of a number that `Math.random` gives in base 36."""
_FRACTION: Final = re.compile(r"[0-9]{1,8}\.[0-9]{1,20}")
_WITHIN: Final = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z])"
    r"|(?<![0-9.a-z])(?P<seconds>1[0-9]{9})[0-9]{3}(?![0-9.a-z])|(?<![0-9.])0\.[0-9]{10,20}(?![0-9])",
    re.IGNORECASE,
)
"""A UUID, milliseconds since 1970 and a number of `Math.random` within a longer value, such as a JSON text."""
_SIZE: Final = re.compile(r"-?[0-9]{1,5}(?:\.[0-9]{1,20})?(?:[x,*][0-9]{1,5})?", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"\.[0-9]{1,4}_$")
"""End of the name of a member that comes again in a body."""
_PICTURES: Final = frozenset(("avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp"))
_CALLBACK: Final = re.compile(r"[a-z_$][\w$.]{0,127}", re.IGNORECASE)

type Pairs = tuple[tuple[str, str], ...]


class PrefixIndex(Protocol):
    """The search needs this part of `dedupdb.captures.capture_index.Captures`."""

    def with_prefix(
        self, collection: str, prefix: str, *, methods: Sequence[str], limit: int, is_whole: bool = False
    ) -> list[Capture]:
        """Return at most `limit` captures by the methods whose keys begin with the prefix, in the order of the keys.

        With `is_whole`, the key is the prefix.
        """


@dataclass(frozen=True, slots=True)
class StarredText:
    """A starred text is a text with marks, and how many days each of its dates is from the time of the visit."""

    text: str
    days: tuple[int, ...]

    def fits(self, other: StarredText) -> bool:
        """Return whether the texts are the same, and the dates but for one day."""
        if self.text != other.text or len(self.days) != len(other.days):
            return False
        return all(abs(ours - theirs) <= 1 for ours, theirs in zip(self.days, other.days, strict=True))


@dataclass(frozen=True, slots=True)
class Callback:
    """The name of a JSONP function differs: the recorded one, and the one that is asked for."""

    recorded: str
    asked: str


class Rules:
    """The rules tell volatile parts of URLs from others."""

    def __init__(self) -> None:
        text = resources.files("proxy.replay.matching").joinpath("similar.toml").read_text("utf-8")
        given = tomllib.loads(text)
        self._ignored = frozenset(given["ignored"])
        self._beginnings = tuple(given["ignored_beginnings"])
        self._when_volatile = frozenset(given["ignored_when_volatile"])
        self._when_token = frozenset(given["ignored_when_token"])
        self._sizes = frozenset(given["ignored_sizes"])
        self._picture_sizes = frozenset(given["picture_sizes"])
        self._callbacks = frozenset(given["callbacks"])
        self._files = frozenset(given["files"])
        self._numbers = frozenset(given["ignored_numbers"])
        self._durations = frozenset(given["ignored_durations"])
        self._echoed = frozenset(given["echoed"])
        self._echoed_beside = {name: frozenset(names) for name, names in given["echoed_beside"].items()}
        self._contents = frozenset(given["contents"])
        self._value = re.compile("|".join(f"(?:{value})" for value in given["values"]))
        self._path = re.compile("|".join(f"(?:{path})" for path in given["paths"]), re.IGNORECASE)
        self._token = re.compile("|".join(f"(?:{value})" for value in given["tokens"]))

    def is_volatile(self, value: str) -> bool:
        """Return whether a value differs from visit to visit."""
        return len(value) <= 128 and self._value.fullmatch(value.lower()) is not None

    def _is_token(self, value: str) -> bool:
        return len(value) <= _LONGEST_TOKEN and self._token.fullmatch(value.lower()) is not None

    def is_callback(self, name: str, value: str) -> bool:
        """Return whether a parameter names the function that the answer calls."""
        return name.lower() in self._callbacks and not value.isdigit() and _CALLBACK.fullmatch(value) is not None

    def is_file(self, path: str) -> bool:
        """Return whether a path ends like the name of a file that does not depend on its query."""
        return path.rpartition("/")[2].rpartition(".")[2].lower() in self._files and "." in path.rpartition("/")[2]

    def is_picture(self, path: str) -> bool:
        """Return whether a path ends like the name of a picture."""
        return path.rpartition("/")[2].rpartition(".")[2].lower() in _PICTURES

    def is_ignored(self, name: str, value: str) -> bool:
        """Return whether a parameter only defeats caches."""
        plain = name.lower()
        if plain in self._ignored or plain.startswith(self._beginnings):
            return True
        if plain in self._echoed and (value.isdigit() or self._is_token(value)):
            return True
        if plain in self._when_volatile and ((value.isdigit() and len(value) >= _LONG) or self.is_volatile(value)):
            return True
        if plain in self._when_volatile and _RANDOM.fullmatch(value):
            return True
        if plain in self._when_token and self._is_token(value):
            return True
        if plain in self._numbers and _SIZE.fullmatch(value):
            return True
        if plain in self._durations and _FRACTION.fullmatch(value):
            return True
        if plain in self._sizes and _SIZE.fullmatch(value):
            return True
        return not value and (plain.isdigit() or self.is_volatile(plain))

    def plain(self, pairs: Pairs) -> Pairs:
        """Return the parameters of step 1."""
        beside = self._beside(pairs)
        kept = (
            (name, "()" if self.is_callback(name, value) else value)
            for name, value in pairs
            if _member(name) not in beside
        )
        return tuple(sorted(pair for pair in kept if not self.is_ignored(*pair)))

    def without_random_values(self, pairs: Pairs) -> Pairs:
        """Return the parameters with the alphabet in the place of each value that looks random."""
        return tuple((name, self._without_random_value(name, value)) for name, value in pairs)

    def _without_random_value(self, name: str, value: str) -> str:
        if _member(name).replace("_", "").replace("-", "").removesuffix("[]") in self._contents:
            return value
        alphabet = alphabet_of(unquote_plus(value[:_LONGEST_VALUE]))
        return f"{MARK}{alphabet}" if alphabet else value

    def _beside(self, pairs: Pairs) -> frozenset[str]:
        """Return the names that only count or name a call, since a name of their protocol stands beside them."""
        names = {name.lower() for name, _ in pairs}
        return frozenset().union(*(found for name, found in self._echoed_beside.items() if name in names))

    def echoes(self, recorded: Pairs, asked: Pairs) -> Iterator[Echo]:
        """Yield the values that two requests made up, by the names that both have."""
        theirs, beside = dict(recorded), self._beside(asked)
        for name, value in asked:
            other = theirs.get(name, "")
            is_call = _member(name) in beside or name.lower() in self._echoed
            if not is_call and not (self.is_volatile(other) and self.is_volatile(value)):
                continue
            if (found := echo(_NUMBERED.sub("", name) if is_call else "", other, value)) is not None:
                yield found

    def unsized(self, pairs: Pairs) -> Pairs:
        """Return the parameters of step 4."""
        return tuple(pair for pair in self.plain(pairs) if pair[0].lower() not in self._picture_sizes)

    def starred(self, pairs: Pairs, moment: Micros) -> StarredText:
        """Return the parameters of step 2, as they are seen at a moment."""
        days: list[int] = []
        text = "&".join(f"{name}={self._starred(value, moment, days)}" for name, value in self.plain(pairs))
        return StarredText(text, tuple(days))

    def starred_path(self, path: str, moment: Micros) -> StarredText:
        """Return the path of step 3, as it is seen at a moment."""
        days: list[int] = []
        dated = marked(self._path.sub(MARK, path), moment, days)
        return StarredText("/".join(self._starred_part(part, moment, days) for part in dated.split("/")), tuple(days))

    def stable_beginning(self, path: str, moments: Sequence[Micros]) -> str:
        """Return the beginning of a path in which nothing is volatile, up to a slash."""
        made_up = self._path.search(path)
        beginning, stable = path[: min(first_date(path), made_up.start() if made_up else len(path))], ""
        for part in beginning.split("/")[:-1]:
            if any(self._starred_part(part, moment, []) != part for moment in moments):
                break
            stable += f"{part}/"
        return stable

    def _starred(self, value: str, moment: Micros, days: list[int]) -> str:
        """Return a value with `*` or `@`; the days of its dates are added to the others."""
        text = unquote_plus(value[:_LONGEST_VALUE])
        if (seconds := _EPOCH.fullmatch(text)) is not None:
            days.append(_days_from(moment, seconds[1]))
            return DATE_MARK
        if _is_now(text, moment):
            days.append(0)
            return DATE_MARK
        if self.is_volatile(text):
            return MARK

        if (inner := _from_base64(text)) is not None:
            starred = self._starred_within(inner, moment, days)
            return f"({starred})" if starred != inner else value
        return self._starred_within(text, moment, days) + value[_LONGEST_VALUE:]

    def _starred_within(self, text: str, moment: Micros, days: list[int]) -> str:
        def star(found: re.Match[str]) -> str:
            if found["seconds"] is None:
                return MARK
            days.append(_days_from(moment, found["seconds"]))
            return DATE_MARK

        return marked(_WITHIN.sub(star, text), moment, days)

    def _starred_part(self, part: str, moment: Micros, days: list[int]) -> str:
        stem, dot, ending = part.rpartition(".")
        if _DEFEATS_CACHES.fullmatch(part):
            return MARK
        whole = self._starred(part, moment, days)
        if whole != part or not dot:
            return whole if whole != part else self._starred_words(part, moment, days)
        return f"{self._starred_words(stem, moment, days)}.{ending}"

    def _starred_words(self, text: str, moment: Micros, days: list[int]) -> str:
        if self.is_volatile(text):
            return MARK
        return _WORD.sub(lambda found: self._starred(found[0], moment, days), text, _MOST_WORDS)


def _days_from(moment: Micros, seconds: str) -> int:
    return (int(seconds) - moment // 1_000_000) // 86_400


def _from_base64(text: str) -> str | None:
    """Return the plain text that stands in Base64; None for other values."""
    if _BASE64.fullmatch(text) is None:
        return None
    plain = text.partition("=")[0].partition("%")[0].translate(_URL_SAFE)
    try:
        found = b64decode(plain + "=" * (-len(plain) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return found if found.isprintable() else None


def _is_now(text: str, moment: Micros) -> bool:
    """Return whether a number in base 36 or 16 is the time of the visit, but for a day, or that of its slot of time."""
    plain = text.lower()
    if plain.isdecimal() and plain.isascii() and 7 <= len(plain) <= 9:
        return any(abs(int(plain) * slot - moment // 1_000_000) < _SLOT_NEAR for slot in _SLOTS)
    for form, base, unit in _BASES:
        if form.fullmatch(plain) and not plain.isdigit():
            time = int(plain, base) * unit if unit else int(plain[:8], 16) * 1_000_000
            if abs(time - moment) < _DAY:
                return True
    return False


class Similar:
    """Finds captures of similar requests. Threads may share it; every call blocks."""

    def __init__(self, index: PrefixIndex, rules: Rules | None = None) -> None:
        self._index = index
        self._rules = rules or Rules()

    def find(
        self,
        collection: str,
        url: str,
        method: str,
        body: str | None,
        moments: Sequence[Micros] = (),
        *,
        is_page: bool = False,
    ) -> list[Capture]:
        """Return the captures that answer the request in the first step that has any. Raises CapturesError.

        `moments` are times that the page may take for now, besides the time that it is. The captures of a page are
        looked for at its own host alone.
        """
        key = urls.key(url)
        if len(key) > _LONGEST:
            return []
        methods = ("GET", "HEAD") if method == "HEAD" else (method,)
        if method not in ("GET", "HEAD"):
            return self._with_body(collection, url, method, body, (now_micros(), *moments))
        return self._same_form(collection, key, methods, (now_micros(), *moments), is_page=is_page)

    def with_random_values(
        self, collection: str, url: str, method: str, moments: Sequence[Micros] = ()
    ) -> list[Capture]:
        """Return the captures of a URL with other values in the place of those that look random. Raises CapturesError.

        The values alone don't tell whether they name content, so the payloads have to be looked at, too.
        """
        key, rules = urls.key(url), self._rules
        path, _, query = key.partition("?")
        given = _pairs(query)
        asked = rules.without_random_values(given)
        if asked == given or len(key) > _LONGEST:
            return []
        forms = [rules.starred(asked, moment) for moment in (now_micros(), *moments)]
        rows = self._rows(collection, f"{path}?", ("GET", "HEAD") if method == "HEAD" else (method,))
        recorded = ((row, rules.without_random_values(_query_pairs(row))) for row in rows)
        return [row for row, pairs in recorded if _fits(rules.starred(pairs, row.date), forms)]

    def callback(self, asked: str, recorded: str) -> Callback | None:
        """Return how the name of the JSONP function differs between two URLs; None when it does not."""
        theirs = dict(_pairs(recorded.partition("?")[2]))
        for name, value in _pairs(asked.partition("?")[2]):
            other = theirs.get(name)
            if other in (None, value) or not self._rules.is_callback(name, value):
                continue
            if self._rules.is_callback(name, other):
                return Callback(unquote_plus(other), unquote_plus(value))
        return None

    def echoes(self, asked: tuple[str, str | None], recorded: tuple[str, str | None]) -> list[Echo]:
        """Return the values that two requests made up; each is a URL and the query of a body."""
        (url, body), (other_url, other_body) = asked, recorded
        path, _, query = url.partition("?")
        other_path, _, other_query = other_url.partition("?")
        found = echoes_between(other_path, path)
        bodies = readable(body or ""), readable(other_body or "")
        for ours, theirs in ((query, other_query), bodies):
            found += self._rules.echoes(_unquoted(theirs), _unquoted(ours))
        return found[:MOST]

    def _same_form(
        self, collection: str, key: str, methods: Sequence[str], moments: Sequence[Micros], *, is_page: bool
    ) -> list[Capture]:
        rules, (path, _, query) = self._rules, key.partition("?")
        asked = _pairs(query)
        near = [*self._rows(collection, path, methods, is_whole=True), *self._rows(collection, f"{path}?", methods)]
        if len(near) >= _ROWS and (stable := self._stable_query(query)):
            near += self._rows(collection, f"{path}?{stable}&", methods)
        plain = rules.plain(asked)
        if found := [row for row in near if rules.plain(_query_pairs(row)) == plain]:
            return found
        forms = [rules.starred(asked, moment) for moment in moments]
        if found := [row for row in near if _fits(rules.starred(_query_pairs(row), row.date), forms)]:
            return found
        beginning = rules.stable_beginning(path, moments)
        paths = [rules.starred_path(path, moment) for moment in moments]
        if paths[0].text != path and beginning.count("/") > 0:
            rows = self._rows(collection, beginning, methods)
            alike = [row for row in rows if _fits(rules.starred_path(row.key.partition("?")[0], row.date), paths)]
            if found := [row for row in alike if _fits(rules.starred(_query_pairs(row), row.date), forms)]:
                return found
        pictures = [row for row in near if row.mime.startswith("image/")]
        if found := [row for row in pictures if rules.unsized(_query_pairs(row)) == rules.unsized(asked)]:
            return found
        if (rules.is_picture(path) or sized(path).size) and (found := self._other_size(collection, key, methods)):
            return found
        if not is_page and (found := self._other_shard(collection, key, methods)):
            return found
        return near if rules.is_file(path) else []

    def _other_size(self, collection: str, key: str, methods: Sequence[str]) -> list[Capture]:
        """Return the captures of a picture in the nearest size."""
        path, _, query = key.partition("?")
        asked, parameters = sized(path), self._rules.unsized(_pairs(query))
        found = [
            (abs(form.size - asked.size), row)
            for row in self._rows(collection, asked.beginning, methods)
            if row.mime.startswith("image/")
            and (form := sized(row.key.partition("?")[0])).text == asked.text
            and self._rules.unsized(_query_pairs(row)) == parameters
        ]
        nearest = min((distance for distance, _ in found), default=0)
        return [row for distance, row in found if distance == nearest]

    def _other_shard(self, collection: str, key: str, methods: Sequence[str]) -> list[Capture]:
        """Return the captures of a file at another host of its network."""
        plain = self._rules.plain(_pairs(key.partition("?")[2]))
        for other in shards(key):
            path = other.partition("?")[0]
            rows = self._rows(collection, path, methods, is_whole=True)
            rows += self._rows(collection, f"{path}?", methods)
            if found := [row for row in rows if self._rules.plain(_query_pairs(row)) == plain]:
                return found
        return []

    def _stable_query(self, query: str) -> str:
        """Return the parameters before the first volatile one."""
        parts = query.split("&", _MOST_PARAMETERS)
        stable = 0
        while stable < len(parts) and self._is_stable(parts[stable]):
            stable += 1
        return "&".join(parts[: min(stable, len(parts) - 1)])

    def _is_stable(self, parameter: str) -> bool:
        pairs = _pairs(parameter)
        form = self._rules.starred(pairs, 0)
        return form.text == parameter and self._rules.plain(pairs) == pairs

    def _with_body(
        self, collection: str, url: str, method: str, body: str | None, moments: Sequence[Micros]
    ) -> list[Capture]:
        rows = [row for row in self._rows(collection, asked_key(url, method, None), (method,)) if row.url == url]
        if not rows:
            rows = self._other_queries(collection, url, method, moments)
        asked = [self._rules.starred(_pairs(readable(body or "")), moment) for moment in moments]
        scored = [(self._score(body or "", asked, row), row) for row in rows]
        bodies = {row.request_body for row in rows}
        best = max((score for score, _ in scored), default=0.0)
        if best < 0.0 or (best < _ENOUGH and len(bodies) > 1):
            return []
        return [row for score, row in scored if score == best]

    def _score(self, body: str, asked: Sequence[StarredText], row: Capture) -> float:
        recorded = readable(row.request_body or "")
        ours, theirs = binary(readable(body)), binary(recorded)
        if ours is not None and theirs is not None:
            return likeness(ours, theirs)
        form = self._rules.starred(_pairs(recorded), row.date)
        return max(_agreement(each, form) for each in asked)

    def _other_queries(self, collection: str, url: str, method: str, moments: Sequence[Micros]) -> list[Capture]:
        """Return the captures by a method at URLs that differ in volatile parameters alone."""
        path, _, query = urls.key(url).partition("?")
        forms = [self._rules.starred(_pairs(query), moment) for moment in moments]
        return [
            row
            for row in self._rows(collection, f"{path}?", (method,))
            if _fits(self._rules.starred(_pairs(urls.key(row.url).partition("?")[2]), row.date), forms)
        ]

    def _rows(self, collection: str, prefix: str, methods: Sequence[str], *, is_whole: bool = False) -> list[Capture]:
        found = self._index.with_prefix(collection, prefix, methods=methods, limit=_ROWS, is_whole=is_whole)
        return [row for row in found if row.kind in ("response", "revisit")]


def _fits(recorded: StarredText, asked: Sequence[StarredText]) -> bool:
    return any(recorded.fits(form) for form in asked)


def _query_pairs(row: Capture) -> Pairs:
    return _pairs(row.key.partition("?")[2])


def _agreement(asked: StarredText, recorded: StarredText) -> float:
    """Return which part of the names and values is the same in both: 2 for all of them.

    Return -1 when a small number differs, such as that of a page: a client that asks for the next page would never come
    to an end.
    """
    if asked.fits(recorded):
        return 2.0
    ours, theirs = (set(_pairs(form.text)) for form in (asked, recorded))
    numbers = {name for name, value in ours - theirs if value.isdigit()}
    if any(name in numbers and value.isdigit() for name, value in theirs - ours):
        return -1.0
    return len(ours & theirs) / max(len(ours), len(theirs), 1)


def _pairs(query: str) -> Pairs:
    return tuple(_split(query))


def _unquoted(query: str) -> Pairs:
    return tuple((unquote_plus(name), unquote_plus(value)) for name, value in _split(query))


def _member(name: str) -> str:
    """Return the name of a member without the number that tells it from another one of that name."""
    return _NUMBERED.sub("", name.lower())


def _split(query: str) -> Iterator[tuple[str, str]]:
    for part in query.split("&", _MOST_PARAMETERS)[:_MOST_PARAMETERS]:
        name, _, value = part.partition("=")
        if part and not part.startswith(urls.METHOD_MARK):
            yield name, value
