"""Values become what people read: dates in the user's zone, sizes, counts, durations. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from admin.models.base import NO_LIMIT
from admin.units import human_bytes
from archive.dates import Micros

NOTHING: Final = "–"
_MINUTES = len("2026-11-23 09:05")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone of that name; UTC when the name is not known any more."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def date_text(moment: Micros | None, zone: ZoneInfo) -> str:
    """Return `2026-11-23 09:05`, or a dash."""
    return NOTHING if moment is None else _local(moment, zone).isoformat(" ")[:_MINUTES]


def date_input(moment: Micros | None, zone: ZoneInfo) -> str:
    """Return the moment as <input type=datetime-local> takes it; empty for none."""
    return "" if moment is None else _local(moment, zone).isoformat()[:_MINUTES]


def ago_text(moment: Micros | None, now: Micros) -> str:
    """Return how long before or after now a moment is, such as `3 minutes ago` or `in 2 days`."""
    if moment is None:
        return NOTHING
    seconds = (now - moment) / 1_000_000
    words = duration_text(abs(seconds))
    return f"{words} ago" if seconds >= 0 else f"in {words}"


def duration_text(seconds: float | None) -> str:
    """Return a length of time in its two largest units, such as `2 h 5 min`."""
    if seconds is None:
        return NOTHING
    whole = int(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def count_text(count: int | None) -> str:
    """Return a number with thin spaces between its thousands."""
    return NOTHING if count is None else f"{count:,}".replace(",", "\u202f")


def size_text(count: float | None) -> str:
    """Return a number of bytes as `23.4 MB`."""
    return NOTHING if count is None else human_bytes(count)


def limit_text(limit: int | None) -> str:
    """Return a limit of objects, or that there is none."""
    return "no limit" if limit in (None, NO_LIMIT) else count_text(limit)


def size_limit_text(limit: int | None) -> str:
    """Return a limit of bytes, or that there is none."""
    return "no limit" if limit in (None, NO_LIMIT) else size_text(limit)


def compared_text(found: int, expected: int) -> str:
    """Return how a result compares with what was expected, such as `12 % fewer than the 300 expected`."""
    if not expected:
        return "nothing was expected"
    if found == expected:
        return f"as many as expected: {count_text(expected)}"
    if found >= 2 * expected:
        return f"{found / expected:.1f} times the {count_text(expected)} expected"
    share = abs(found - expected) / expected
    words = "less than 1 %" if share < 0.01 else f"{min(round(share * 100), 100 if not found else 99)} %"
    return f"{words} {'more' if found > expected else 'fewer'} than the {count_text(expected)} expected"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return `1 job`, `2 jobs`; `nouns` is the plural where it has no s."""
    return f"{count_text(count)} {noun if count == 1 else nouns or noun + 's'}"


def unicode_domain(name: str) -> str:
    """Return a domain's name with its IDNA labels in Unicode; labels that can't be decoded stay as they are."""
    import idna

    labels = []
    for label in name.split("."):
        try:
            labels.append(idna.decode(label) if label.startswith("xn--") else label)
        except idna.IDNAError:
            labels.append(label)
    return ".".join(labels)


def _local(moment: Micros, zone: ZoneInfo) -> datetime:
    found = datetime.fromtimestamp(moment // 1_000_000, UTC)
    try:
        return found.astimezone(zone)
    except OverflowError:  # the last hours of the year 9999, which a record of anybody's may name
        return found
