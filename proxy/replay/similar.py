"""Replay finds the capture of a URL that differs from the asked one only in volatile parts, by rules.

The rules stand in `similar.toml`. Each step has a form of a URL's key. An answer is a capture whose form is the same:

1. without parameters that defeat caches, and with any name of a callback function;
2. with `*` for each value of a parameter that is a moment, a random number or an identifier;
3. with `*` for each part of the path that is such a value, too;
4. without the query, for files such as images.

For a body sent by POST or PUT, the names and values of the body are compared in the same way. When no body is the same,
the most similar one with at least half of its values counts. One read of the index has at most a few hundred rows.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final, Protocol
from urllib.parse import unquote_plus

from archive import url as urls
from archive.capture import Capture
from archive.warc.request_query import asked_key

_ROWS: Final = 500
"""Index rows that are read for one form."""
_LONGEST: Final = 8_192
"""Characters of a URL's key that is looked for in other forms."""
_MOST_PARAMETERS: Final = 300
_ENOUGH: Final = 0.5
"""Part of a body that must be the same, when there are several bodies."""
_LONG: Final = 5
"""Digits of a number that is no number of a page."""
_MARK: Final = "*"
_SPLIT: Final = re.compile(r"[/_.,;~-]")
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
class Callback:
    """The name of a JSONP function differs: the recorded one, and the one that is asked for."""

    recorded: str
    asked: str


class Rules:
    """The rules tell volatile parts of URLs from others."""

    def __init__(self) -> None:
        text = resources.files("proxy.replay").joinpath("similar.toml").read_text("utf-8")
        given = tomllib.loads(text)
        self._ignored = frozenset(given["ignored"])
        self._beginnings = tuple(given["ignored_beginnings"])
        self._when_volatile = frozenset(given["ignored_when_volatile"])
        self._callbacks = frozenset(given["callbacks"])
        self._files = frozenset(given["files"])
        self._value = re.compile("|".join(f"(?:{value})" for value in given["values"]))

    def is_volatile(self, value: str) -> bool:
        """Return whether a value differs from visit to visit."""
        return len(value) <= 128 and self._value.fullmatch(value.lower()) is not None

    def is_callback(self, name: str, value: str) -> bool:
        """Return whether a parameter names the function that the answer calls."""
        return name.lower() in self._callbacks and not value.isdigit() and _CALLBACK.fullmatch(value) is not None

    def is_file(self, path: str) -> bool:
        """Return whether a path ends like the name of a file that does not depend on its query."""
        return path.rpartition("/")[2].rpartition(".")[2].lower() in self._files and "." in path.rpartition("/")[2]

    def is_ignored(self, name: str, value: str) -> bool:
        """Return whether a parameter only defeats caches."""
        plain = name.lower()
        if plain in self._ignored or plain.startswith(self._beginnings):
            return True
        if plain in self._when_volatile and ((value.isdigit() and len(value) >= _LONG) or self.is_volatile(value)):
            return True
        return not value and (plain.isdigit() or self.is_volatile(plain))

    def plain(self, pairs: Pairs) -> Pairs:
        """Return the parameters of step 1."""
        kept = ((name, "()" if self.is_callback(name, value) else value) for name, value in pairs)
        return tuple(sorted(pair for pair in kept if not self.is_ignored(*pair)))

    def starred(self, pairs: Pairs) -> Pairs:
        """Return the parameters of step 2."""
        return tuple(sorted((name, _MARK if self.is_volatile(value) else value) for name, value in self.plain(pairs)))

    def starred_path(self, path: str) -> str:
        """Return the path of step 3."""
        return "/".join(map(self._starred_part, path.split("/")))

    def stable_beginning(self, key: str) -> str:
        """Return the beginning of a key's path in which nothing is volatile."""
        beginning = ""
        for part in key.partition("?")[0].split("/"):
            if self._starred_part(part) != part:
                return beginning
            beginning += f"{part}/"
        return beginning.removesuffix("/")

    def _starred_part(self, part: str) -> str:
        if self.is_volatile(part):
            return _MARK
        stem, dot, ending = part.rpartition(".")
        if dot and self.is_volatile(stem):
            return f"{_MARK}.{ending}"
        words = _SPLIT.split(part)
        if len(words) > 1 and len(words) < 20:
            for word in words:
                if len(word) >= 8 and self.is_volatile(word):
                    part = part.replace(word, _MARK)
        return _DATE.sub(_MARK, part)


_DATE: Final = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d")


class Similar:
    """Finds captures of similar requests. Threads may share it; every call blocks."""

    def __init__(self, index: PrefixIndex, rules: Rules | None = None) -> None:
        self._index = index
        self._rules = rules or Rules()

    def find(self, collection: str, url: str, method: str, body: str | None) -> list[Capture]:
        """Return the captures that answer the request in the first step that has any. Raises CapturesError."""
        key = urls.key(url)
        if len(key) > _LONGEST:
            return []
        methods = ("GET", "HEAD") if method == "HEAD" else (method,)
        if method not in ("GET", "HEAD"):
            return self._with_body(collection, url, method, body)
        return self._same_form(collection, key, methods)

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

    def _same_form(self, collection: str, key: str, methods: Sequence[str]) -> list[Capture]:
        rules, (path, _, query) = self._rules, key.partition("?")
        asked = _pairs(query)
        near = [*self._rows(collection, path, methods, is_whole=True), *self._rows(collection, f"{path}?", methods)]
        if len(near) >= _ROWS and (stable := self._stable_query(query)):
            near += self._rows(collection, f"{path}?{stable}&", methods)
        for form in (rules.plain, rules.starred):
            if found := _equal(near, form(asked), form):
                return found
        beginning, starred = rules.stable_beginning(key), rules.starred_path(path)
        if starred != path and beginning.count("/") > 0:
            rows = self._rows(collection, f"{beginning}/" if not beginning.endswith("/") else beginning, methods)
            alike = [row for row in rows if rules.starred_path(row.key.partition("?")[0]) == starred]
            if found := _equal(alike, rules.starred(asked), rules.starred):
                return found
        if rules.is_file(path):
            return near
        return []

    def _stable_query(self, query: str) -> str:
        """Return the parameters before the first volatile one."""
        parts = query.split("&", _MOST_PARAMETERS)
        stable = 0
        while stable < len(parts) and (pairs := _pairs(parts[stable])) == self._rules.starred(pairs):
            stable += 1
        return "&".join(parts[: min(stable, len(parts) - 1)])

    def _with_body(self, collection: str, url: str, method: str, body: str | None) -> list[Capture]:
        key = asked_key(url, method, None)
        rows = [row for row in self._rows(collection, key, (method,)) if row.url == url]
        asked = self._rules.starred(_pairs(body or ""))
        scored = [(_agreement(asked, self._rules.starred(_pairs(row.request_body or ""))), row) for row in rows]
        bodies = {row.request_body for row in rows}
        best = max((score for score, _ in scored), default=0.0)
        if best < 0.0 or (best < _ENOUGH and len(bodies) > 1):
            return []
        return [row for score, row in scored if score == best]

    def _rows(self, collection: str, prefix: str, methods: Sequence[str], *, is_whole: bool = False) -> list[Capture]:
        found = self._index.with_prefix(collection, prefix, methods=methods, limit=_ROWS, is_whole=is_whole)
        return [row for row in found if row.kind in ("response", "revisit")]


def _equal(rows: Sequence[Capture], wanted: Pairs, form: Callable[[Pairs], Pairs]) -> list[Capture]:
    return [row for row in rows if form(_pairs(row.key.partition("?")[2])) == wanted]


def _agreement(asked: Pairs, recorded: Pairs) -> float:
    """Return which part of the names and values is the same in both: 2 for all of them.

    Return -1 when a small number differs, such as that of a page: a client that asks for the next page would never come
    to an end.
    """
    if asked == recorded:
        return 2.0
    ours, theirs = set(asked), set(recorded)
    numbers = {name for name, value in ours - theirs if value.isdigit()}
    if any(name in numbers and value.isdigit() for name, value in theirs - ours):
        return -1.0
    return len(ours & theirs) / max(len(ours), len(theirs), 1)


def _pairs(query: str) -> Pairs:
    return tuple(_split(query))


def _split(query: str) -> Iterator[tuple[str, str]]:
    for part in query.split("&", _MOST_PARAMETERS)[:_MOST_PARAMETERS]:
        name, _, value = part.partition("=")
        if part and not part.startswith(urls.METHOD_MARK):
            yield name, value
