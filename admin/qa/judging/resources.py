"""Compare what a page asked for at its capture with what it gets in replay. Pure.

A request that only the replay makes, and that the archive can't answer, is damage when the page makes it in each visit.
A page that chooses one of several URLs at random, such as an advertisement, asks for another one in each visit.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final

from archive.capture import Capture
from archive.dates import Micros
from archive.repairs import is_repair
from browsers.engines.traffic import MAX_INITIATOR, AskedExchange

_VARIABLE: Final = re.compile(r"\?.*|\d+", re.DOTALL)
"""Parts of a URL in which the choices of a page differ."""
_KINDS: Final = {
    "document": "document",
    "subdocument": "document",
    "iframe": "document",
    "image": "image",
    "imageset": "image",
    "stylesheet": "stylesheet",
    "script": "script",
    "font": "font",
    "media": "media",
    "texttrack": "other",
}
"""The browsers' words for the destination of a request, and the kinds of resources that QA knows."""
_NOT_SHOWN: Final = frozenset(("ping", "cspviolationreport", "csp", "beacon", "preflight", "prefetch"))
"""Requests that readers never see the answer of."""
_MOST_LOOKUPS: Final = 500
_MICROS: Final = 1_000_000
_OK: Final = 200
_MOST_SKEWS: Final = 20
_MINUTE: Final = 60.0


class ResourceState(StrEnum):
    """A resource of a page is in one of these states in replay."""

    REPLAYED = "replayed"
    MISSING = "missing"
    """The crawl kept it, and the archive can't answer now."""
    NEVER_CAPTURED = "never-captured"
    """The crawl never asked for it, each visit in replay does, and the archive can't answer."""
    FAILED_AT_CAPTURE = "failed-at-capture"
    """The site gave no good answer when the page was captured."""
    VARIES = "varies"
    """The page asks for it in some visits only, or in place of another URL like it."""
    CHANGED = "changed"
    """The replay answers with another content than the page had at its capture. A repair may have put it there: then
    it counts as replayed."""
    NOT_ASKED = "not-asked"
    """The replay did not ask for it, and the archive has it."""


@dataclass(frozen=True, slots=True)
class PageResource:
    """A resource of a page with its fate."""

    url: str
    kind: str
    """image, media, stylesheet, script, font, document or other."""
    state: ResourceState
    status: int = 0
    """The status in replay; 0 without an answer."""
    why: str = ""
    """The reason in a few words, for a resource that is not replayed."""
    initiator: str = ""
    """The kind and the place of what asks for it (`browsers.engines.traffic.BrowserRequest`)."""

    @property
    def is_damage(self) -> bool:
        """Return whether readers miss the resource."""
        return self.state in (ResourceState.MISSING, ResourceState.NEVER_CAPTURED, ResourceState.CHANGED)


@dataclass(frozen=True, slots=True)
class ResourceComparison:
    """The comparison has all resources of a page, and how far their captures are from the page's."""

    resources: tuple[PageResource, ...] = ()
    good_at_capture: int = 0
    bad_at_capture: int = 0
    good_in_replay: int = 0
    bad_in_replay: int = 0
    earliest_seconds: float = 0.0
    """Seconds by which the earliest capture of a resource is older than the page's."""
    latest_seconds: float = 0.0
    """Seconds by which the latest capture of a resource is newer than the page's."""
    skews: tuple[tuple[str, float], ...] = ()
    """URLs of resources whose captures are more than a minute apart from the page's, and by how many seconds: less than
    0 for an older one. The furthest come first, at most 20."""
    unlisted: int = 0
    """Resources of the capture that were not looked up, since there are too many."""

    @property
    def damaged(self) -> tuple[PageResource, ...]:
        """Return the resources that readers miss."""
        return tuple(each for each in self.resources if each.is_damage)

    def measures(self) -> dict[str, Any]:
        """Return the numbers of the comparison."""
        states: dict[str, int] = {}
        for each in self.resources:
            states[each.state] = states.get(each.state, 0) + 1
        return {
            "states": states,
            "crawlGood": self.good_at_capture,
            "crawlBad": self.bad_at_capture,
            "replayGood": self.good_in_replay,
            "replayBad": self.bad_in_replay,
            "earliestSeconds": round(self.earliest_seconds, 3),
            "latestSeconds": round(self.latest_seconds, 3),
            "skews": [{"url": url, "seconds": round(seconds, 3)} for url, seconds in self.skews],
            "unlisted": self.unlisted,
        }


def compare_resources(
    captured: Mapping[str, Mapping[str, Any]],
    replays: Sequence[Iterable[AskedExchange]],
    page_date: Micros,
    is_archived: Callable[[str, str], bool],
    shown: Callable[[str], Capture | None] = lambda _: None,
    page_id: str = "",
) -> ResourceComparison:
    """Return the comparison of the page information's list `urls` with the requests of one visit or more in replay.

    `is_archived` tells whether the archive has a capture of a URL with this payload digest; an empty digest stands for
    any. `shown` returns the capture that an answer of the replay names as its record. An empty list at capture is that
    of a page that no ghost captured: then every request is one of the page.
    """
    visits = [_by_url(exchanges) for exchanges in replays]
    asked = _by_url(answer for visit in visits for answer in visit.values())
    at_capture = {url: entry for url, entry in captured.items() if "__wb_method=" not in url}
    shapes = {_VARIABLE.sub("", url) for url, entry in at_capture.items() if url not in asked and _was_good(entry)}
    found = []
    lookups = 0
    unlisted = 0
    for url, answer in asked.items():
        in_all = all(url in visit for visit in visits)
        fate = _asked(url, answer, at_capture, shapes, is_stable=in_all and len(visits) > 1)
        digest = str(at_capture.get(url, {}).get("digest", ""))
        if fate.state is ResourceState.REPLAYED and digest and lookups < _MOST_LOOKUPS:
            lookups += 1
            if why := _change(url, digest, shown(answer.headers.get("ghostfleet-record", "")), is_archived, page_id):
                fate = replace(fate, state=ResourceState.CHANGED, why=why)
        found.append(fate)
    for url, entry in at_capture.items():
        if url in asked or not url.startswith("http") or not _was_good(entry):
            continue
        lookups += 1
        if lookups > _MOST_LOOKUPS:
            unlisted += 1
            continue
        state = ResourceState.NOT_ASKED if is_archived(url, "") else ResourceState.MISSING
        why = "" if state is ResourceState.NOT_ASKED else "the archive has no capture of it any more"
        kind = kind_of(str(entry.get("type", "")), str(entry.get("mime", "")))
        found.append(PageResource(url, kind, state, 0, why, _initiator(entry)))
    skews = _skews(asked.values(), page_date)
    good = sum(_is_good(answer) for answer in asked.values())
    was_good = sum(_was_good(entry) for entry in at_capture.values())
    return ResourceComparison(
        tuple(found),
        was_good,
        len(at_capture) - was_good,
        good,
        len(asked) - good,
        max(0.0, -min(skews.values(), default=0.0)),
        max(0.0, max(skews.values(), default=0.0)),
        _furthest(skews),
        unlisted,
    )


def kind_of(browsers_word: str, mime: str = "") -> str:
    """Return the kind of a resource by the browser's word for its destination, or by its media type."""
    if browsers_word in _KINDS:
        return _KINDS[browsers_word]
    beginning = mime.partition("/")[0]
    if beginning in ("image", "font"):
        return beginning
    return "media" if beginning in ("video", "audio") else "other"


def _asked(
    url: str,
    answer: AskedExchange,
    at_capture: Mapping[str, Mapping[str, Any]],
    shapes: frozenset[str] | set[str],
    *,
    is_stable: bool,
) -> PageResource:
    """Return the fate of a URL that the replay asked for."""
    kind = kind_of(answer.request.kind, answer.headers.get("content-type", ""))
    entry = at_capture.get(url)
    initiator = answer.request.initiator or _initiator(entry or {})
    if _is_good(answer):
        return PageResource(url, kind, ResourceState.REPLAYED, answer.status, initiator=initiator)
    why = _reason(answer)
    if entry is not None:
        state = ResourceState.MISSING if _was_good(entry) else ResourceState.FAILED_AT_CAPTURE
    elif answer.request.kind in _NOT_SHOWN or not _is_ours(answer):
        state = ResourceState.FAILED_AT_CAPTURE  # an archived error, or a request without an effect for readers
    elif not is_stable or (at_capture and _VARIABLE.sub("", url) in shapes):
        state = ResourceState.VARIES
    else:
        state = ResourceState.NEVER_CAPTURED
    return PageResource(url, kind, state, answer.status, why, initiator)


def _change(url: str, digest: str, shown: Capture | None, is_archived: Callable[[str, str], bool], page_id: str) -> str:
    """Return how the replay's content differs from that of the capture, whose digest is given; empty when it doesn't.

    A page may ask for a URL several times and get several contents: any of its own visit is the one of that time.
    """
    if shown is not None and shown.url == url and shown.status == _OK and shown.digest and not shown.truncated:
        if shown.digest == digest or is_repair(shown.job):
            return ""
        if is_archived(url, digest):
            is_of_visit = bool(page_id) and shown.page_id == page_id
            return "" if is_of_visit else "the replay shows a capture of it with another content"
    return "" if is_archived(url, digest) else "no capture of it has the content of that time"


def _initiator(entry: Mapping[str, Any]) -> str:
    """Return what asked for a resource at the capture; empty when nobody knows."""
    found = entry.get("initiator", "")
    return found[:MAX_INITIATOR] if isinstance(found, str) else ""


def _by_url(exchanges: Iterable[AskedExchange]) -> dict[str, AskedExchange]:
    """Return the last answer to each URL that was asked by GET; a good answer is never replaced by a bad one."""
    found: dict[str, AskedExchange] = {}
    for each in exchanges:
        url = each.request.url.partition("#")[0]
        if each.request.method != "GET" or not url.startswith("http") or each.error.endswith("ERR_ABORTED"):
            continue
        if url not in found or not _is_good(found[url]) or _is_good(each):
            found[url] = each
    return found


def _is_good(answer: AskedExchange) -> bool:
    return not answer.error and 200 <= answer.status < 400


def _was_good(entry: Mapping[str, Any]) -> bool:
    status = entry.get("status")
    return not entry.get("error") and isinstance(status, int) and 200 <= status < 400


def _is_ours(answer: AskedExchange) -> bool:
    """Return whether the replay itself gave the bad answer, and not an archived one."""
    return bool(answer.error) or not answer.status or "ghostfleet-replay" in answer.headers


def _reason(answer: AskedExchange) -> str:
    if answer.headers.get("ghostfleet-replay") == "miss":
        return "the archive has no capture of it"
    if answer.error:
        return f"the replay failed: {answer.error}"[:200]
    return f"status {answer.status} in replay"


def _skews(answers: Iterable[AskedExchange], page_date: Micros) -> dict[str, float]:
    """Return by how many seconds the capture of each URL is newer than the page's; less than 0 for an older one."""
    skews = {}
    for answer in answers:
        try:
            date = parsedate_to_datetime(answer.headers.get("memento-datetime", "")).timestamp()
        except (ValueError, TypeError, OverflowError):
            continue
        skews[answer.request.url] = date - page_date / _MICROS
    return skews


def _furthest(skews: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Return the URLs whose captures are furthest from the page's, when that is more than a minute."""
    found = heapq.nlargest(_MOST_SKEWS, skews.items(), key=lambda pair: abs(pair[1]))
    return tuple(pair for pair in found if abs(pair[1]) > _MINUTE)
