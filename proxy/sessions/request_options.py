"""Clients may ask the recorder for these options, for one request by `Warcprox-Meta` or for all of a session. Pure.

The header is warcprox's: a JSON object whose unknown keys are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from dedupdb.fleet.quotas import Limit
from proxy.refusal import Refused, check_list, check_name, check_object, check_text
from proxy.sessions.rules import MimeFilter, Rule, parse_filters, parse_rules
from proxy.sessions.stats_buckets import Bucket, parse_limits, parse_stats

NOT_ARCHIVED: Final = "-"
"""The prefix that says: fetch, but don't archive."""
CAPTURE_METADATA: Final = "capture-metadata"
CAPTURE_RECORD: Final = "capture-record"
_MAX_META: Final = 4_194_304
_MAX_BUCKETS: Final = 64
_MAX_NAME: Final = 256
_REMEMBERED: Final = 65_536
_MODES: Final = {"": "rw", "rw": "rw", "ro": "ro"}


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The options say how exchanges are to be treated."""

    prefix: str | None = None
    """Prefix of WARC file names; `-` archives nothing, None is the collection's own prefix."""
    dedup: bool = True
    buckets: tuple[tuple[str, str], ...] = ()
    """Dedup buckets: name, and `rw` or `ro`."""
    conditional: bool | None = None
    """The origin is asked whether the page has changed; None stands for what the settings say."""
    blocks: tuple[Rule, ...] = ()
    filters: tuple[MimeFilter, ...] = ()
    stats: tuple[Bucket, ...] = ()
    limits: tuple[Limit, ...] = ()
    """Hard ones first."""
    accept: frozenset[str] = frozenset()
    """The keys that the response's Warcprox-Meta shall have."""

    def merged_with(self, other: RequestOptions) -> RequestOptions:
        """Return both sets of options together. An option that can have one value only is `other`'s, if set there."""
        if other is NOTHING or self is NOTHING:
            return self if other is NOTHING else other
        limits = (*self.limits, *other.limits)
        return RequestOptions(
            prefix=self.prefix if other.prefix is None else other.prefix,
            dedup=self.dedup and other.dedup,
            buckets=other.buckets or self.buckets,
            conditional=self.conditional if other.conditional is None else other.conditional,
            blocks=self.blocks + other.blocks,
            filters=self.filters + other.filters,
            stats=self.stats + other.stats,
            limits=tuple(sorted(limits, key=lambda limit: limit.is_soft)),
            accept=self.accept | other.accept,
        )


NOTHING: Final = RequestOptions()


@dataclass(frozen=True, slots=True)
class Meta:
    """A trusted client's `Warcprox-Meta` header has this content."""

    options: RequestOptions = NOTHING
    facts: Mapping[str, str] = field(default_factory=dict)


NO_META: Final = Meta()


def parse_meta(raw: bytes) -> Meta:
    """Return what a Warcprox-Meta header says. Raises Refused naming the field that can't be used."""
    if len(raw) > _MAX_META:
        raise Refused(400, f"Warcprox-Meta has {len(raw)} bytes; at most {_MAX_META} are accepted")
    return _remembered(raw) if len(raw) <= _REMEMBERED else _parse(raw)


def parse_options(value: Mapping[str, Any]) -> RequestOptions:
    """Return the options in an object with warcprox's keys. Raises Refused (400) naming the first bad one."""
    prefix = value.get("warc-prefix")
    if prefix not in (None, NOT_ARCHIVED):
        check_name("warc-prefix", prefix)
    accept = [text for text in check_list("accept", value.get("accept")) if isinstance(text, str)]
    found = RequestOptions(
        prefix=prefix,
        dedup=value.get("dedup-ok", True) is not False,
        buckets=_dedup_buckets(value),
        conditional=_conditional(value.get("conditional")),
        blocks=parse_rules(value.get("blocks"), value.get("compressed_blocks")),
        filters=parse_filters(value.get("mime-type-filters")),
        stats=parse_stats(value.get("stats")),
        limits=(
            *parse_limits(value.get("limits"), is_soft=False),
            *parse_limits(value.get("soft-limits"), is_soft=True),
        ),
        accept=frozenset(accept) & {CAPTURE_METADATA, CAPTURE_RECORD},
    )
    return NOTHING if found == NOTHING else found


def _parse(raw: bytes) -> Meta:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"Warcprox-Meta is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(400, "Warcprox-Meta must be a JSON object")
    facts = check_object("Warcprox-Meta field 'metadata'", value.get("metadata"))
    texts = {str(name): text for name, text in facts.items() if isinstance(text, str)}
    for name, text in texts.items():
        check_text(f"Warcprox-Meta metadata {name!r}", text)
    return Meta(parse_options(value), texts)


# A crawler says the same in request after request; reading a thousand rules again for each would stop the proxy.
_remembered = lru_cache(maxsize=64)(_parse)


def _conditional(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise Refused(400, f"conditional = {str(value)[:100]!r} must be true or false")
    return value


def _dedup_buckets(value: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return `dedup-buckets`, or one of its older forms, which name one bucket."""
    given = check_object("dedup-buckets", value.get("dedup-buckets"))
    if not given:
        given = {name: "rw" for key in ("captures-bucket", "dedup-bucket") if (name := value.get(key)) is not None}
    if len(given) > _MAX_BUCKETS:
        raise Refused(400, f"dedup-buckets names {len(given)} buckets; at most {_MAX_BUCKETS} are accepted")
    for name, mode in given.items():
        check_text("a bucket of dedup-buckets", name)
        if not 0 < len(name) <= _MAX_NAME:
            raise Refused(400, f"dedup-buckets {name[:100]!r} must have 1 to {_MAX_NAME} characters")
        if not isinstance(mode, str | None) or (mode or "") not in _MODES:
            raise Refused(400, f"dedup-buckets {name[:100]!r} = {str(mode)[:100]!r} must be rw or ro")
    return tuple((name, _MODES[mode or ""]) for name, mode in given.items())
