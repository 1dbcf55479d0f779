"""Judge a page: compare its capture with one visit or more in replay, and say what is damaged.

The comparisons themselves are pure functions (`browsers.comparison`, `admin.qa.judging.resources`). A page whose only
damage is one that chance may explain is visited a second time, since a false alarm costs a person more than a visit
costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final

from admin.collections.browsing.records import plain_text
from admin.qa.judging.captured_page import CapturedPage
from admin.qa.judging.findings import (
    KIND_OF_RESOURCE,
    LEAST_POINTS,
    MOST_FINDINGS,
    VERSION,
    Finding,
    FindingKind,
    score_of,
    severity_of,
)
from admin.qa.judging.resources import PageResource, ResourceComparison, ResourceState, compare_resources
from archive.capture import Capture
from archive.settings.qa import QaSettings
from browsers.comparison.boxes import Box
from browsers.comparison.damage import Damage, WeighedResource, damage_of
from browsers.comparison.errors import NewError, new_errors
from browsers.comparison.links import LinkComparison, compare_links
from browsers.comparison.pictures import PictureComparison, PictureUnreadable, compare_pictures, volatility_mask
from browsers.comparison.texts import TextComparison, compare_texts
from browsers.ghosts.page import PageSnapshot
from browsers.ghosts.page_outcome import found_links, links_out
from browsers.ghosts.page_records import PageVisit, evidence_of
from browsers.ghosts.replay_visit import ReplayedPage
from browsers.ghosts.resource_boxes import boxes_of
from browsers.page_quality.assessment import flaws_of
from browsers.page_records.page_info import redirect_chain
from browsers.visit import VisitOrder

_MOST_ERRORS: Final = 10
"""Errors of scripts that are findings."""
_FEWEST_LINKS: Final = 2
"""One lost link is no finding on a page with few links: pages choose what they recommend."""
_FLAWS_OF_PAGES: Final = frozenset(
    ("waf", "captcha", "rate-limit", "soft-404", "login-wall", "consent-wall", "age-gate")
)
_MEANINGS: Final = {
    "waf": "the answer of a firewall",
    "captcha": "a captcha",
    "rate-limit": "the message that it was asked too often",
    "soft-404": "the message that there is no such page",
    "login-wall": "a login",
    "consent-wall": "a question for consent",
    "age-gate": "a question for the reader's age",
}
_DAY: Final = 86_400
_HAS_PICTURE: Final = 2
"""The readyState of a film that shows a picture (HTML Standard, HAVE_CURRENT_DATA)."""
_PAGE: Final = Box(0, 0, 1280, 1024)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of one page. `why` says why a page is not judged."""

    score: int = -1
    severity: str = ""
    findings: tuple[Finding, ...] = ()
    measures: dict[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    title: str = ""
    text: str = ""
    """The text of the replay that was compared."""
    why: str = ""
    replays: tuple[ReplayedPage, ...] = ()
    needs_second_visit: bool = False

    @property
    def is_unjudged(self) -> bool:
        """Return whether the page could not be judged."""
        return bool(self.why)

    @property
    def reasons(self) -> list[dict[str, Any]]:
        """Return the findings as JSON values, the most expensive first."""
        return [finding.to_json() for finding in self.findings]

    @property
    def kinds(self) -> str:
        """Return the kinds of the findings between spaces; empty without a finding."""
        kinds = dict.fromkeys(finding.kind.value for finding in self.findings)
        return f" {' '.join(kinds)} " if kinds else ""

    def with_note(self, note: str) -> Judgement:
        """Return the judgement with a note in its measures."""
        return replace(self, measures={**self.measures, "notes": [*self.measures.get("notes", ()), note]})


class Judge:
    """The judge has the thresholds of the settings. It is safe to use from several threads."""

    def __init__(self, settings: QaSettings) -> None:
        self._settings = settings

    def unjudged(self, why: str) -> Judgement:
        """Return the judgement of a page that can't be judged, with the reason."""
        return Judgement(why=plain_text(why))

    def compare(
        self,
        captured: CapturedPage,
        replays: Sequence[ReplayedPage],
        is_archived: Callable[[str, str], bool],
        shown: Callable[[str], Capture | None] = lambda _: None,
    ) -> Judgement:
        """Return the judgement of a page after one visit or more in replay.

        `is_archived` tells whether the archive has a capture of a URL with a payload digest; an empty digest stands for
        any. `shown` returns the capture that an answer of the replay names as its record.
        """
        first = replays[0]
        snapshot = first.snapshot
        if first.trouble or snapshot.crashed:
            return self.unjudged(f"the browser ended during the replay: {first.trouble or 'no reason is known'}")
        replays = [replay for replay in replays if not (replay.trouble or replay.snapshot.crashed)]
        resources = compare_resources(
            captured.urls,
            [replay.exchanges for replay in replays],
            captured.captured,
            is_archived,
            shown,
            captured.page_id,
        )
        boxes = {box["url"]: box for box in (*snapshot.boxes, *_boxes(captured.note))}
        damage = _damage(captured, boxes, resources)
        chosen = self._settings
        snapshots = [replay.snapshot for replay in replays]
        views = (picture for each in replays for picture in (each.snapshot.view, *each.views))
        masks = _masks(captured, replays)
        view_picture, view = _best_picture(captured.view, views, masks, chosen.view_tolerance)
        whole_picture, whole = _best_picture(
            captured.full_page, (each.full_page for each in snapshots), masks, chosen.full_page_tolerance
        )
        shown_text, text = _best_text(captured.text, [each.text for each in snapshots if each.text is not None])
        links = _links(captured, replays)
        errors = _new_errors(captured, replays)
        best, about_page = _best_visit(captured, replays)
        findings = [
            *about_page,
            *_about_resources(resources.damaged, damage, boxes),
            *_about_media(captured, replays, frozenset(each.url for each in resources.damaged)),
            *_about_pictures(view, whole, chosen, has_damage=bool(resources.damaged)),
            *_about_text(text, chosen.text_tolerance),
            *_about_links(links, chosen.lost_links_share, has_damage=bool(resources.damaged)),
            *_about_errors(errors, chosen.script_error_points),
            *_about_capture(captured, resources, chosen.skew_days),
        ]
        findings = [replace(finding, words=plain_text(finding.words)) for finding in findings]
        findings.sort(key=lambda finding: -finding.points)
        score = score_of(findings)
        severity = severity_of(findings, score, severe=chosen.severe_score, noticeable=chosen.noticeable_score)
        return Judgement(
            score,
            severity,
            tuple(findings[:MOST_FINDINGS]),
            {
                **self._measures(captured, resources, damage, view, whole, text, len(replays)),
                **({"links": {"captured": links.captured, "lost": links.lost}} if links is not None else {}),
                **({"newScriptErrors": len(errors)} if captured.errors is not None else {}),
            },
            _pictures(snapshots, view_picture, view, whole_picture, whole),
            plain_text(best.snapshot.title or str(captured.note.get("title", ""))),
            shown_text,
            replays=tuple(replays),
            needs_second_visit=len(replays) == 1 and _may_be_chance(findings, resources),
        )

    def _measures(
        self,
        captured: CapturedPage,
        resources: ResourceComparison,
        damage: Damage,
        view: PictureComparison | None,
        whole: PictureComparison | None,
        text: TextComparison | None,
        visits: int,
    ) -> dict[str, Any]:
        """Return the numbers of all measures with the thresholds, so that a judgement can be repeated."""
        return {
            "version": VERSION,
            "visits": visits,
            "resources": resources.measures(),
            "damage": round(damage.value, 4),
            **({"view": _numbers(view)} if view is not None else {}),
            **({"fullPage": _numbers(whole)} if whole is not None else {}),
            **({"text": {"similarity": round(text.similarity, 4)}} if text is not None else {}),
            "thresholds": {
                "viewTolerance": self._settings.view_tolerance,
                "fullPageTolerance": self._settings.full_page_tolerance,
                "textTolerance": self._settings.text_tolerance,
                "lostLinksShare": self._settings.lost_links_share,
                "skewDays": self._settings.skew_days,
                "severeScore": self._settings.severe_score,
                "noticeableScore": self._settings.noticeable_score,
            },
            **({"notes": list(captured.troubles)} if captured.troubles else {}),
        }


def _may_be_chance(findings: Sequence[Finding], resources: ResourceComparison) -> bool:
    """Return whether another visit may explain the damage, or show that it is real."""
    has_new_urls = any(each.state is ResourceState.VARIES for each in resources.resources)
    differs = any(
        finding.kind in (FindingKind.PICTURE, FindingKind.FULL_PAGE, FindingKind.TEXT, FindingKind.LINKS)
        for finding in findings
    )
    hangs = any(finding.kind in (FindingKind.HANGS, FindingKind.UNPLAYABLE) for finding in findings)
    return has_new_urls or hangs or (differs and not resources.damaged)


def _best_visit(captured: CapturedPage, replays: Sequence[ReplayedPage]) -> tuple[ReplayedPage, list[Finding]]:
    """Return the visit in which the faults of the page as a whole cost least, with these."""
    found = ((each, [*_about_page(captured, each.snapshot), *_about_redirects(captured, each)]) for each in replays)
    return min(found, key=lambda pair: sum(finding.points for finding in pair[1]))


def _about_page(captured: CapturedPage, snapshot: PageSnapshot) -> Iterator[Finding]:
    """Yield what is wrong with the page as a whole."""
    main = snapshot.main
    if snapshot.failure or main is None:
        yield Finding(FindingKind.PAGE_MISSING, f"the replay shows no page: {snapshot.failure or 'no answer'}", 100)
        return
    was = captured.note.get("status")
    if main.status >= 400 and not (isinstance(was, int) and was >= 400):
        missing = main.headers.get("ghostfleet-replay") == "miss"
        why = "the archive has no capture of the page" if missing else f"the page has status {main.status} in replay"
        yield Finding(FindingKind.PAGE_MISSING, why, 100)
        return
    if snapshot.hangs or "page-timeout" in snapshot.notes:
        was_slow = "page-timeout" in (captured.note.get("notes") or ())
        if not was_slow:
            yield Finding(FindingKind.HANGS, "the page did not finish in replay within its time", 30)
    visit = PageVisit(VisitOrder(captured.url, ""), "", captured.captured, snapshot, {}, 0, "", _width(captured), 0)
    for flaw in flaws_of(evidence_of(visit)):
        if flaw.type.value == "blank" and "blank" not in captured.flaw_types:
            yield Finding(FindingKind.BLANK, "the page is blank in replay", 80)
        elif flaw.type.value in _FLAWS_OF_PAGES - captured.flaw_types and captured.note:
            yield Finding(
                FindingKind.ERROR_PAGE, f"the replay shows {_MEANINGS[flaw.type.value]} (rule {flaw.rule})", 60
            )


def _about_redirects(captured: CapturedPage, replay: ReplayedPage) -> Iterator[Finding]:
    """Yield a finding when the replay ends elsewhere, or goes another way to the same page."""
    final, before = replay.snapshot.final_url, captured.chain
    after = [str(each["url"]) for each in redirect_chain(replay.exchanges)]
    if before and after and list(map(_plain, before)) != list(map(_plain, after)):
        ways = f"; the capture went by {_way(before)}, and the replay by {_way(after)}"
    else:
        ways = ""
    if captured.note and final and _plain(final) != _plain(captured.final_url):
        words = f"the replay ends at another URL than the capture, which was {captured.final_url}{ways}"
        yield Finding(FindingKind.REDIRECT, words, 15, final)
    elif ways:
        yield Finding(FindingKind.REDIRECT, f"the redirects of the page differ{ways}", 3)


def _way(urls: Sequence[str]) -> str:
    """Return the URLs of redirects in their order: the first three and the last one."""
    shown = [*urls[:3], *(("…",) if len(urls) > 4 else ()), *urls[3:][-1:]]
    return " → ".join(url[:200] for url in shown)


def _about_links(links: LinkComparison | None, tolerance: float, *, has_damage: bool) -> Iterator[Finding]:
    """Yield a finding for links that are lost. With missing resources, which explain them, they cost a quarter."""
    if links is None or links.lost < _FEWEST_LINKS or links.lost_share <= tolerance:
        return
    points = (0.25 if has_damage else 1.0) * min(40.0, 6 + 40 * (links.lost_share - tolerance))
    words = f"{links.lost:,} of {links.captured:,} links of the capture are not in the replay"
    yield Finding(FindingKind.LINKS, words, round(points, 2), examples=links.examples)


def _about_errors(errors: Sequence[NewError], points: float) -> Iterator[Finding]:
    """Yield the errors of scripts that only the replay has. With 0 points each, there are none."""
    for error in errors[:_MOST_ERRORS] if points else ():
        times = f" ({error.count:,} times)" if error.count > 1 else ""
        at = f" at {error.at}" if error.at else ""
        yield Finding(
            FindingKind.SCRIPT_ERROR, f"a script has an error in replay alone{times}: {error.text}{at}", points
        )


def _links(captured: CapturedPage, replays: Sequence[ReplayedPage]) -> LinkComparison | None:
    """Return the comparison of the links; None when the capture's or the replay's are not known."""
    seen = [replay.snapshot for replay in replays if replay.snapshot.dom is not None and not replay.snapshot.hangs]
    if captured.links is None or not seen:
        return None
    return compare_links(
        captured.links, (url for each in seen for url in links_out(found_links(captured.url, each).links))
    )


def _new_errors(captured: CapturedPage, replays: Sequence[ReplayedPage]) -> list[NewError]:
    """Return the errors of scripts that only the replay has; none when those of the capture are not known."""
    visits = [each.snapshot.errors for each in replays if each.snapshot.errors is not None]
    return new_errors(captured.errors, visits) if captured.errors is not None else []


def _about_resources(
    damaged: Sequence[PageResource], damage: Damage, boxes: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """Yield a finding for each resource that readers miss, or get with another content."""
    seen: set[FindingKind] = set()
    for each in damaged:
        kind = KIND_OF_RESOURCE[each.kind]
        least = LEAST_POINTS[kind] / (10 if kind in seen else 1)
        seen.add(kind)
        weight = damage.value * damage.shares.get(each.url, 0.0)
        points = round(max(least, 100 * weight), 2)
        name = _name_of(each.kind)
        size = _size_of(boxes.get(each.url))
        if each.state is ResourceState.CHANGED:
            kind, words = FindingKind.CHANGED, f"{name} has another content than at the capture: {each.why}"
        else:
            words = f"{name} is missing: {each.why}"
        yield Finding(kind, words, points, each.url, each.initiator, size, round(weight, 4))


def _about_media(captured: CapturedPage, replays: Sequence[ReplayedPage], damaged: Set[str]) -> Iterator[Finding]:
    """Yield images, films and sounds that the browser could show at the capture, and can't show in any visit.

    A resource that is missing has its finding already.
    """
    at_capture = {box["url"]: box for box in _boxes(captured.note)}
    visits = [{box["url"]: box for box in replay.snapshot.boxes} for replay in replays]
    for url, box in visits[0].items():
        before = at_capture.get(url)
        if before is None or url in damaged or not all(_is_worse(before, each.get(url)) for each in visits):
            continue
        size = _size_of(box)
        if box["kind"] == "image":
            points = LEAST_POINTS[FindingKind.MISSING_IMAGE]
            yield Finding(FindingKind.BROKEN_IMAGE, "an image can't be decoded in replay", points, url, size=size)
        else:
            yield Finding(FindingKind.UNPLAYABLE, "a film or a sound can't be played in replay", 15, url, size=size)


def _is_worse(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> bool:
    """Return whether an element could show its resource at the capture, and can't in replay.

    A film that had a picture at its capture, and has not even its length in replay, has no error yet.
    """
    if after is None or "error" in before:
        return False
    return "error" in after or (before.get("readyState", 0) >= _HAS_PICTURE and after.get("readyState") == 0)


def _about_pictures(
    view: PictureComparison | None, whole: PictureComparison | None, settings: QaSettings, *, has_damage: bool
) -> Iterator[Finding]:
    """Yield differences of pictures. With missing resources, which explain them, they cost a quarter."""
    factor = 0.25 if has_damage else 1.0
    if view is not None and view.changed_share > settings.view_tolerance:
        points = factor * min(60.0, 12 + 100 * (view.changed_share - settings.view_tolerance))
        yield Finding(
            FindingKind.PICTURE,
            f"{view.changed_share:.0%} of the window's picture differ (similarity {view.similarity:.2f})",
            round(points, 2),
        )
    if whole is not None and whole.changed_share > settings.full_page_tolerance:
        points = factor * min(40.0, 11 + 60 * (whole.changed_share - settings.full_page_tolerance))
        rows = _rows(whole)
        yield Finding(
            FindingKind.FULL_PAGE,
            f"{whole.changed_share:.0%} of the whole page's picture differ (similarity {whole.similarity:.2f}){rows}",
            round(points, 2),
        )


def _about_text(text: TextComparison | None, tolerance: float) -> Iterator[Finding]:
    if text is None or text.only_digits or text.similarity >= tolerance:
        return
    lost = f"; missing is for example {text.missing[0][:100]!r}" if text.missing else ""
    points = min(60.0, 11 + 60 * (tolerance - text.similarity))
    yield Finding(FindingKind.TEXT, f"the texts are {text.similarity:.0%} alike{lost}", round(points, 2))


def _about_capture(captured: CapturedPage, resources: ResourceComparison, most_days: float) -> Iterator[Finding]:
    """Yield what was wrong at the capture already, and captures of other times."""
    for flaw in sorted(captured.flaw_types & _FLAWS_OF_PAGES):
        yield Finding(FindingKind.FLAW_AT_CAPTURE, f"the ghost saw {_MEANINGS[flaw]} at the capture", 50)
    skew = max(resources.earliest_seconds, resources.latest_seconds)
    if skew > most_days * _DAY:
        words = f"a resource was captured {skew / _DAY:,.0f} days apart from the page"
        yield Finding(FindingKind.TIME_SKEW, words, 2, resources.skews[0][0] if resources.skews else "")


def _best_picture(
    capture: bytes | None, pictures: Iterable[bytes | None], masks: Sequence[bytes], tolerance: float
) -> tuple[bytes | None, PictureComparison | None]:
    """Return the picture of the replays that is most like the capture's, with the comparison.

    When no picture can be compared, the first one is returned.
    """
    best: bytes | None = None
    found: PictureComparison | None = None
    for picture in pictures:
        if picture is None:
            continue
        compared = _compared(capture, picture, masks) if capture is not None else None
        if best is None or (compared is not None and (found is None or compared.changed_share < found.changed_share)):
            best, found = picture, compared
        if capture is None or (found is not None and found.changed_share <= tolerance):
            break
    return best, found


def _best_text(capture: str | None, texts: Sequence[str]) -> tuple[str, TextComparison | None]:
    """Return the text of the replays that is most like the capture's, with the comparison if there is one."""
    if capture is None or not texts:
        return next(filter(None, texts), ""), None
    compared = ((text, compare_texts(capture, text)) for text in texts)
    return max(compared, key=lambda pair: (pair[1].only_digits or pair[1].similarity == 1, pair[1].similarity))


def _compared(capture: bytes, replay: bytes, masks: Sequence[bytes]) -> PictureComparison | None:
    try:
        return compare_pictures(capture, replay, masks)
    except PictureUnreadable:
        return None


def _masks(captured: CapturedPage, replays: Sequence[ReplayedPage]) -> tuple[bytes, ...]:
    """Return the places that change by themselves: at the capture, and between the pictures of the replays."""
    found = [captured.volatile] if captured.volatile is not None else []
    for replay in replays:
        if replay.snapshot.view is not None and replay.views:
            try:
                mask = volatility_mask(replay.snapshot.view, replay.views[-1])
            except PictureUnreadable:
                mask = None
            found += [mask] if mask is not None else []
    return tuple(found)


def _damage(captured: CapturedPage, boxes: Mapping[str, Mapping[str, Any]], resources: ResourceComparison) -> Damage:
    """Return the damage after Memento Damage. `boxes` has the places of resources that are known, by URL."""
    weighed = []
    for each in resources.resources:
        if each.state in (ResourceState.VARIES, ResourceState.FAILED_AT_CAPTURE):
            continue
        known = boxes.get(each.url)
        box = Box(*known["box"]) if known is not None else None
        is_visible = known is None or known["isVisible"]
        weighed.append(WeighedResource(each.url, each.kind, each.is_damage, box, is_visible))
    viewport = captured.viewport
    page = Box(0, 0, viewport[0], viewport[1]) if viewport is not None else _PAGE
    return damage_of(weighed, page)


def _boxes(note: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the boxes that the ghost noted at the capture."""
    found = note.get("boxes")
    return boxes_of(found) if isinstance(found, list) else []


def _pictures(
    snapshots: Sequence[PageSnapshot],
    view_picture: bytes | None,
    view: PictureComparison | None,
    whole_picture: bytes | None,
    whole: PictureComparison | None,
) -> dict[str, bytes]:
    """Return the pictures that reviewers look at, by the names of their files."""
    fits_window = any(whole_picture is each.view for each in snapshots)
    found = {
        "view.png": view_picture,
        "full-page.png": whole_picture if not fits_window else None,
        "view-difference.png": view.difference if view is not None else None,
        "full-page-difference.png": whole.difference if whole is not None else None,
    }
    return {name: picture for name, picture in found.items() if picture}


def _numbers(compared: PictureComparison) -> dict[str, Any]:
    return {
        "similarity": round(compared.similarity, 4),
        "changedShare": round(compared.changed_share, 4),
        "insertedRows": compared.inserted_rows,
        "missingRows": compared.missing_rows,
        "isCut": compared.is_cut,
        "regions": [[round(box.x), round(box.y), round(box.width), round(box.height)] for box in compared.regions[:10]],
    }


def _rows(compared: PictureComparison) -> str:
    parts = []
    if compared.missing_rows:
        parts.append(f"{compared.missing_rows} rows are missing")
    if compared.inserted_rows:
        parts.append(f"{compared.inserted_rows} rows are new")
    return f"; {' and '.join(parts)}" if parts else ""


def _name_of(kind: str) -> str:
    return {
        "image": "an image",
        "media": "a film or a sound",
        "stylesheet": "a style sheet",
        "script": "a script",
        "font": "a font",
        "document": "the document of a frame",
    }.get(kind, "a resource")


def _size_of(box: Mapping[str, Any] | None) -> str:
    """Return width and height of a box in CSS pixels, such as 300 × 200; empty without one."""
    return f"{box['box'][2]} × {box['box'][3]}" if box is not None and box["isVisible"] else ""


def _plain(url: str) -> str:
    """Return the URL without fragment and trailing slash, since pages change these without a new document."""
    return url.partition("#")[0].rstrip("/")


def _width(captured: CapturedPage) -> int:
    """Return the width of the window of the capture; 0 when it is not known."""
    return captured.viewport[0] if captured.viewport is not None else 0
