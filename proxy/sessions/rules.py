"""Rules over URLs and media types say which requests are refused and which responses are not archived. No I/O.

A block rule is an object of conditions that must all hold, with urlcanon's names: `domain` (the host or a host below
it), `surt` and `ssurt` (prefixes), `substring`, `regex` and `parent_url_regex` (of the whole URL). The older form
`url_match` with `value` says the same as one of them. Rules come from clients: their sizes, their number, the time
to read them and the time to apply them are bounded, so that none of them can stop the proxy.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import regex

from archive.url import DEFAULT_PORTS, UrlError, ascii_host, canonical_or_same
from proxy.refusal import Refused, check_list, check_object, check_text

_MAX_RULES: Final = 20_000
_MAX_TEXT: Final = 4096
_MAX_UNPACKED: Final = 8_388_608
_MAX_RATIO: Final = 100
_FREE_OF_RATIO: Final = 65_536
_READ_SECONDS: Final = 1.0
_APPLY_SECONDS: Final = 0.05
_MAX_REPEATS: Final = 10_000
_COUNT: Final = re.compile(r"\{(\d{1,9})")
_LEGACY: Final = {"STRING_MATCH": "substring", "SURT_MATCH": "surt", "REGEX_MATCH": "regex"}
_CONDITIONS: Final = ("domain", "surt", "ssurt", "substring", "regex", "parent_url_regex")


class Subject:
    """The subject is a URL in the forms that rules compare."""

    def __init__(self, url: str, parent: str | None = None) -> None:
        self.url = canonical_or_same(url)
        self.parent = canonical_or_same(parent) if parent else None

    @cached_property
    def host(self) -> str:
        """Return the host, without port."""
        return _split(self.url)[1]

    @cached_property
    def surt(self) -> str:
        """Return heritrix's form: `http://(org,example,)/path`, with a port `http://(org,example,:8080)/path`."""
        scheme, host, port, rest = _split(self.url)
        labels = host if _is_address(host) else ",".join(reversed(host.split("."))) + ","
        return f"{scheme}://({labels}{':' if port else ''}{port}){rest}"

    @cached_property
    def ssurt(self) -> str:
        """Return urlcanon's form, host first: `org,example,//http:/path`, with a port
        `org,example,//8080:http:/path`.
        """
        scheme, host, port, rest = _split(self.url)
        labels = host if _is_address(host) else ",".join(reversed(host.split("."))) + ","
        return f"{labels}//{port}{':' if port else ''}{scheme}:{rest}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A block rule has the text of its client, `definition`, and what it asks for."""

    definition: Mapping[str, Any]
    conditions: tuple[tuple[str, str], ...]

    def applies(self, subject: Subject, deadline: float) -> bool:
        """Return whether all conditions hold. Raises TimeoutError."""
        return all(_holds(name, value, subject, deadline) for name, value in self.conditions)


@dataclass(frozen=True, slots=True)
class MimeFilter:
    """The filter archives media types that match `pattern`; with `rejects`, only those that don't match."""

    rejects: bool
    pattern: str


def in_domain(host: str, domain: str) -> bool:
    """Return whether the host is the domain or a host below it. Both must be as `ascii_host` returns them."""
    return host == domain or (host.endswith("." + domain) and not _is_address(host))


def normal_domain(what: str, domain: object) -> str:
    """Return a domain as URLs have it: lower case, IDNA. Raises Refused (400)."""
    check_text(what, domain)
    try:
        return ascii_host(str(domain).strip("."))
    except UrlError as error:
        raise Refused(400, f"{what} = {str(domain)[:100]!r} is not a domain: {error}") from error


def parse_rules(given: object, packed: object = None) -> tuple[Rule, ...]:
    """Return the rules of `blocks` and of `compressed_blocks`. Raises Refused (400) naming what can't be used."""
    listed = check_list("blocks", given)
    if packed is not None:
        listed = [*listed, *check_list("compressed_blocks", _unpacked(packed))]
    if len(listed) > _MAX_RULES:
        raise Refused(400, f"blocks has {len(listed)} rules; at most {_MAX_RULES} are accepted")
    deadline = time.thread_time() + _READ_SECONDS
    rules = []
    for rule in listed:
        rules.append(_rule(check_object("a rule of blocks", rule)))
        if time.thread_time() > deadline:
            raise Refused(400, f"the rules of blocks take longer than {_READ_SECONDS} s to read; send fewer patterns")
    return tuple(rules)


def first_match(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """Return the first rule that applies, or None. Raises Refused (400) when the rules take too long."""
    deadline = time.thread_time() + _APPLY_SECONDS
    try:
        return next((rule for rule in rules if rule.applies(subject, deadline)), None)
    except TimeoutError:
        raise Refused(
            400, f"the rules of blocks take longer than {_APPLY_SECONDS} s for this URL; send simpler patterns"
        ) from None


def parse_filters(given: object) -> tuple[MimeFilter, ...]:
    """Return the filters of `mime-type-filters`. Raises Refused (400) naming what can't be used."""
    filters = []
    for value in check_list("mime-type-filters", given):
        item = check_object("a filter of mime-type-filters", value)
        kind, pattern = item.get("type"), item.get("regex")
        if kind not in ("REJECT", "LIMIT"):
            raise Refused(400, f"mime-type-filters type = {kind!r} must be REJECT or LIMIT")
        filters.append(MimeFilter(kind == "REJECT", _checked("mime-type-filters regex", pattern)))
        _compiled(filters[-1].pattern)
    return tuple(filters)


def is_wanted(filters: Sequence[MimeFilter], content_type: str) -> bool:
    """Return whether to archive a response of that Content-Type; the empty string stands for a missing header.

    A filter that takes too long lets the response pass.
    """
    for each in filters:
        try:
            found = bool(content_type) and _compiled(each.pattern).match(content_type, timeout=_APPLY_SECONDS)
        except TimeoutError:
            continue
        if bool(found) is each.rejects:
            return False
    return True


def _rule(given: dict[str, Any]) -> Rule:
    asked = {name: value for name, value in given.items() if name not in ("url_match", "value")}
    if (legacy := given.get("url_match")) is not None:
        if legacy not in _LEGACY or _LEGACY[legacy] in asked:
            raise Refused(
                400, f"url_match = {str(legacy)[:100]!r} must be one of {', '.join(_LEGACY)}, and the only one"
            )
        asked[_LEGACY[legacy]] = given.get("value")
    conditions = []
    for name, value in asked.items():
        if name not in _CONDITIONS:
            raise Refused(
                400, f"a rule of blocks has the unknown condition {name[:100]!r}; known are {', '.join(_CONDITIONS)}"
            )
        text = _checked(f"a rule's {name}", value)
        if name == "domain":
            text = normal_domain("a rule's domain", text)
        elif name.endswith("regex"):
            _compiled(text)
        conditions.append((name, text))
    if not conditions:
        raise Refused(400, "a rule of blocks has no conditions and would block every URL; give it one")
    conditions.sort(key=lambda condition: condition[0].endswith("regex"))
    return Rule(given, tuple(conditions))


def _holds(name: str, value: str, subject: Subject, deadline: float) -> bool:
    if name == "domain":
        return in_domain(subject.host, value)
    if name == "substring":
        return value in subject.url
    if name == "surt":
        return subject.surt.startswith(value)
    if name == "ssurt":
        return subject.ssurt.startswith(value)
    text = subject.url if name == "regex" else subject.parent
    left = deadline - time.thread_time()
    if left <= 0:
        raise TimeoutError
    return text is not None and _compiled(value).fullmatch(text, timeout=left) is not None


def _checked(what: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_TEXT:
        raise Refused(400, f"{what} = {str(value)[:100]!r} must be a string of 1 to {_MAX_TEXT} characters")
    return value


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> Any:
    # The compiler writes out what is repeated: nested counts multiply.
    if math.prod(max(1, int(count)) for count in _COUNT.findall(pattern)) > _MAX_REPEATS:
        raise Refused(400, f"regex {pattern[:100]!r} has repeat counts whose product is more than {_MAX_REPEATS}")
    try:
        return regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError) as error:
        raise Refused(400, f"regex {pattern[:100]!r} can't be used: {error}") from error


def _unpacked(packed: object) -> Any:
    """Return what `compressed_blocks` holds: base64 of zlib of JSON. Bounded in size and in ratio."""
    if not isinstance(packed, str):
        raise Refused(400, "compressed_blocks must be a string")
    try:
        data = base64.b64decode(packed, validate=True)
        most = min(_MAX_UNPACKED, max(_FREE_OF_RATIO, _MAX_RATIO * len(data)))
        inflater = zlib.decompressobj()
        text = inflater.decompress(data, most)
        if inflater.unconsumed_tail:
            raise Refused(400, f"compressed_blocks unpacks to more than {most} bytes; send fewer rules")
        if not inflater.eof:
            raise Refused(400, "compressed_blocks is cut short; its zlib data has no end")
        return json.loads(text)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(400, f"compressed_blocks must be base64 of zlib of JSON: {error}") from error


def _split(url: str) -> tuple[str, str, str, str]:
    """Return scheme, host, port (empty for the scheme's own), and the rest from the path on."""
    scheme, _, rest = url.partition("://")
    cut = min((at for mark in "/?" if (at := rest.find(mark)) >= 0), default=len(rest))
    host, colon, port = rest[:cut].rpartition(":")
    if not colon or port.endswith("]"):
        host, port = rest[:cut], ""
    return scheme, host, "" if port == str(DEFAULT_PORTS.get(scheme)) else port, rest[cut:]


def _is_address(host: str) -> bool:
    return host.startswith("[") or host.rpartition(".")[2].isdigit()
