"""Access rules say which captures of a collection readers may see. The captures stay as they are.

The rules of a collection are the lines of its file `access.aclj`, in the form of pywb's access lists:
`KEY - {"access": "exclude", "url": "…"}`. KEY is a loose key (`archive.loose_key`), or the beginning of one; with `###`
behind it, the rule is for this URL alone. The longest rule decides. A line that begins with `!` has what holds without
a rule: `! {"default": "allow", "embargo": {"newer": {"days": 90}}}`.

A key without `)`, such as `org,example`, covers a domain with its subdomains and ports when the domain is the `url` of
the rule. Otherwise the rule is one of pywb, which compares letters: the key covers `org,example2)/`, too.

| access | effect |
|---|---|
| allow | The capture is shown, unless the embargo holds. |
| allow_ignore_embargo | The capture is shown. |
| block | The capture is listed, and its content is answered with 451. |
| exclude | The capture is as good as absent. |

Two further files have rules that curation writes, and no person edits. `curation.aclj` of a collection has its state,
embargoes, rejections and exclusions; `licences.aclj` of all collections has the sites without a licence in force. The
strictest of the three files decides. Rules of these files may hold from a moment or until a moment (`from`, `until`).
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, Final

from archive.capture import Capture
from archive.dates import Micros, now_micros, parse_date, timestamp14
from archive.files import replacement
from archive.json_text import compact_json
from archive.loose_key import is_border, loose_key
from archive.url import OF_A_PAGE, UrlError, canonical

FILE_NAME: Final = "access.aclj"
CURATION_FILE: Final = "curation.aclj"
LICENCE_FILE: Final = "licences.aclj"
APPROVED: Final = "approved"
"""The state of a collection that readers see when they see approved collections alone."""
MOST_BYTES: Final = 64 << 20
_LONGEST: Final = 70_000
_EXACT: Final = "###"
_DAY: Final = 86_400_000_000
_UNITS: Final = {"years": 365 * _DAY, "months": 30 * _DAY, "weeks": 7 * _DAY, "days": _DAY, "hours": _DAY // 24}
_MOST_UNITS: Final = 10_000_000
"""10,000,000 hours are more than 1,000 years; the file has ages in hours."""
_MOMENTS: Final = ("before", "after", "at", "from", "until")
_KNOWN: Final = frozenset({"access", "url", "user", "newer", "older", "comment", *_MOMENTS})
_SECOND: Final = 1_000_000


class Access(StrEnum):
    """Each rule has one of these words."""

    ALLOW = "allow"
    ALLOW_IGNORE_EMBARGO = "allow_ignore_embargo"
    BLOCK = "block"
    EXCLUDE = "exclude"


class AccessRuleError(ValueError):
    """A rule, or a file with rules, can't be used. The message is one line that names it."""


@dataclass(frozen=True, slots=True)
class Period:
    """Captures of a period. `before` and `after` are moments; `newer` and `older` are ages in microseconds."""

    before: Micros | None = None
    after: Micros | None = None
    newer: int | None = None
    older: int | None = None
    at: Micros | None = None
    """Only captures of this second."""
    since: Micros | None = None
    """The rule holds from this moment on, whatever the date of the capture is."""
    until: Micros | None = None
    """The rule holds until this moment."""

    def has(self, date: Micros, now: Micros) -> bool:
        """Return whether a capture of this date lies in the period; every capture does when it has no bound."""
        return (
            (self.before is None or date < self.before)
            and (self.after is None or date > self.after)
            and (self.newer is None or date > now - self.newer)
            and (self.older is None or date < now - self.older)
            and (self.at is None or date // _SECOND == self.at // _SECOND)
            and (self.since is None or now >= self.since)
            and (self.until is None or now < self.until)
        )

    def as_json(self) -> dict[str, object]:
        """Return the bounds in pywb's words; ages are in days."""
        values = (self.before, self.after, self.at, self.since, self.until)
        moments = dict(zip(_MOMENTS, values, strict=True))
        ages = {"newer": self.newer, "older": self.older}
        return {name: timestamp14(value) for name, value in moments.items() if value is not None} | {
            name: {"hours": value // _UNITS["hours"]} for name, value in ages.items() if value is not None
        }


@dataclass(frozen=True, slots=True)
class AccessRule:
    """The rule decides about the captures of all URLs whose loose key begins with `key`."""

    key: str
    access: Access
    is_exact: bool = False
    """The rule is for the URL with this key alone."""
    period: Period = Period()
    url: str = ""
    """The URL from which the rule was made, for people."""
    user: str = ""
    """A rule for one user of pywb. Ghostfleet's readers have no names, so it is kept and never applied."""

    def covers(self, key: str) -> bool:
        """Return whether the rule is for a key that begins with the key of the rule.

        pywb, which compares letters, writes a key without `)` as `url`, too. A top-level domain has no comma.
        """
        is_of_pywb = not self.url or (self.url == self.key and "," in self.key)
        return is_of_pywb or is_border(key, len(self.key))

    def line(self) -> str:
        """Return the rule as a line of the file, with a line end."""
        said: dict[str, object] = {"access": str(self.access)}
        said |= {name: value for name, value in (("url", self.url), ("user", self.user)) if value}
        key = self.key or "*"
        return f"{key}{_EXACT if self.is_exact else ''} - {compact_json(said | self.period.as_json())}\n"


class AccessRules:
    """Access rules hold for one collection, and do not change."""

    def __init__(
        self,
        rules: Iterable[AccessRule] = (),
        default: Access = Access.ALLOW,
        embargo: Period | None = None,
        *,
        state: str = "",
        above: Iterable[AccessRules] = (),
    ) -> None:
        """`state` is that of the collection. `above` are rules of other files: the strictest decision holds."""
        self.rules = tuple(sorted(rules, key=lambda rule: (rule.key, rule.is_exact), reverse=True))
        self.default = default
        self.embargo = embargo
        self.state = state
        self.above = tuple(each for each in above if not each.is_open)
        self._exact = defaultdict[str, list[AccessRule]](list)
        self._prefixes = defaultdict[str, list[AccessRule]](list)
        for rule in self.rules:
            if not rule.user:
                (self._exact if rule.is_exact else self._prefixes)[rule.key].append(rule)
        self._lengths = sorted({len(key) for key in self._prefixes}, reverse=True)

    @property
    def is_open(self) -> bool:
        """Return whether everything may be seen."""
        return not self.rules and self.default is Access.ALLOW and self.embargo is None and not self.above

    def hides_everything(self) -> bool:
        """Return whether curation hides the whole collection at this moment, so that not even its name is shown."""
        moment = now_micros()
        return any(
            (not each.rules and each.default is Access.EXCLUDE)
            or any(
                rule.access is Access.EXCLUDE and rule.period.has(0, moment) and rule.period.has(moment, moment)
                for rule in takewhile(lambda rule: not rule.key, reversed(each.rules))  # the shortest keys are last
            )
            for each in self.above
        )

    def decide(self, url: str, date: Micros, now: Micros | None = None) -> Access:
        """Return what holds for the capture of a URL; records about a page, such as its text, count as the page."""
        moment = now_micros() if now is None else now
        rule = self._rule(loose_key(OF_A_PAGE.sub("", url)), date, moment)
        access = self.default if rule is None else rule.access
        if access is Access.ALLOW and self.embargo is not None and self.embargo.has(date, moment):
            access = Access.EXCLUDE
        for each in self.above:
            access = stricter(access, each.decide(url, date, moment))
        return access

    def _rule(self, key: str, date: Micros, now: Micros) -> AccessRule | None:
        bare = key.removesuffix("/")
        for exact in (key, bare, f"{bare}/"):
            for rule in self._exact.get(exact, ()):
                if rule.period.has(date, now):
                    return rule
        for length in self._lengths:
            for rule in self._prefixes.get(key[:length], ()) if length <= len(key) else ():
                if rule.covers(key) and rule.period.has(date, now):
                    return rule
        return None

    def save(self, path: Path) -> None:
        """Write the file, durably and in one step. Raises OSError."""
        said: dict[str, object] = {"default": str(self.default)}
        if self.state:
            said["state"] = self.state
        if self.embargo is not None:
            said["embargo"] = self.embargo.as_json()
        with replacement(path) as file:
            file.write(f"! {compact_json(said)}\n".encode())
            file.writelines(rule.line().encode() for rule in self.rules)


def load(path: Path) -> AccessRules:
    """Return the rules in a file, ours or pywb's; none without the file. Raises AccessRuleError and OSError."""
    rules, default, embargo, state = [], Access.ALLOW, None, ""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise AccessRuleError(f"{path} has more than {MOST_BYTES:,} bytes")
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode().strip()
                    if line.startswith("!"):
                        said = _object(line[1:])
                        default = _access(said.get("default", "allow"))
                        embargo = _period(said["embargo"]) if said.get("embargo") else None
                        state = str(said.get("state", ""))
                    elif line and not line.startswith("#"):
                        rules.append(parse_rule(line))
                except ValueError as error:
                    raise AccessRuleError(f"{path}:{number}: {error}") from error
    except FileNotFoundError:
        return AccessRules()
    return AccessRules(rules, default, embargo, state=state)


def parse_rule(line: str) -> AccessRule:
    """Return the rule of a line of an access list. Raises AccessRuleError."""
    if len(line) > _LONGEST:
        raise AccessRuleError(f"the line has more than {_LONGEST:,} characters")
    key, dash, rest = line.partition(" - ")
    if not dash or not key or " " in key.strip():
        raise AccessRuleError(f'{line[:80]!r} is no rule; write KEY - {{"access": "exclude"}}')
    said = _object(rest)
    if unknown := said.keys() - _KNOWN:
        raise AccessRuleError(
            f"{sorted(unknown)[0][:40]!r} is unknown in a rule; there are {', '.join(sorted(_KNOWN))}"
        )
    bare = key.strip().removesuffix(_EXACT)
    return AccessRule(
        key="" if bare == "*" else bare,
        access=_access(said.get("access", "")),
        is_exact=key.strip().endswith(_EXACT),
        period=_period({name: said[name] for name in (*_MOMENTS, "newer", "older") if name in said}),
        url=str(said.get("url", ""))[:_LONGEST],
        user=str(said.get("user", ""))[:200],
    )


def rule_for(url: str, access: Access, *, is_exact: bool = False, period: Period | None = None) -> AccessRule:
    """Return a rule: `*.example.org` covers a domain, other text covers URLs by prefix. Raises AccessRuleError."""
    is_domain = url.startswith("*.")
    bare = url.removeprefix("*.").removesuffix("*")
    address = bare if "://" in bare else f"http://{bare}"
    try:
        address = canonical(address)
    except UrlError as error:
        why = f"{url[:200]!r} is not a URL ({error}); write https://example.org/news/ or *.example.org"
        raise AccessRuleError(why) from error
    if is_domain and is_exact:
        raise AccessRuleError(f"{url[:200]!r} stands for many URLs; leave out --exact, or write one URL")
    key = loose_key(address)
    if is_domain:
        key, _, rest = key.partition(")")
        if rest not in ("", "/"):
            host = address.split("/")[2]
            raise AccessRuleError(
                f"{url[:200]!r} is a domain and has no path; write *.{host}, or the URL {address[:200]}"
            )
    return AccessRule(key, access, is_exact, period or Period(), url)


def period_of(*, before: str = "", after: str = "", newer_days: float | None = None) -> Period:
    """Return the period between two dates of 4 to 14 digits, or of the last days. Raises AccessRuleError."""
    given: dict[str, Any] = {name: value for name, value in (("before", before), ("after", after)) if value}
    if newer_days is not None:
        given["newer"] = {"days": newer_days}
    return _period(given)


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The policy says which of the rules that curation writes bind readers."""

    only_approved: bool = False
    """Readers see approved collections alone."""
    only_licensed: bool = False
    """The content of sites whose licence is refused or has expired is answered with 451."""


class AccessControl:
    """The access control knows the rules of all collections, as their files are at the moment. Threads may share it."""

    def __init__(self, collections: Path, policy: AccessPolicy = AccessPolicy()) -> None:
        """Take the folder in which each collection has its folder."""
        self._collections = collections
        self._policy = policy
        self._known: dict[Path, tuple[tuple[int, int, int], AccessRules]] = {}
        self._whole: dict[str, tuple[tuple[AccessRules, ...], AccessRules]] = {}
        self._lock = threading.Lock()

    def rules(self, collection: str) -> AccessRules:
        """Return the rules of a collection. Raises AccessRuleError when they can't be read: nobody may see it then."""
        own = self.own_rules(collection)
        curated = self._of_file(self._collections / collection / CURATION_FILE)
        licences = self._of_file(self._collections / LICENCE_FILE) if self._policy.only_licensed else _OPEN
        is_hidden = self._policy.only_approved and curated.state != APPROVED
        if not is_hidden and curated.is_open and licences.is_open:
            return own
        parts = (own, curated, licences, *((_CLOSED,) if is_hidden else ()))
        with self._lock:
            known = self._whole.get(collection)
            if known is None or any(one is not other for one, other in zip_longest(known[0], parts)):
                known = parts, AccessRules(own.rules, own.default, own.embargo, above=parts[1:])
                self._whole[collection] = known
        return known[1]

    def own_rules(self, collection: str) -> AccessRules:
        """Return the rules that people wrote for a collection, without those of curation. Raises AccessRuleError."""
        return self._of_file(self._collections / collection / FILE_NAME)

    def _of_file(self, path: Path) -> AccessRules:
        try:
            there = path.stat()
        except FileNotFoundError:
            return _OPEN
        except OSError as error:
            raise AccessRuleError(f"{path} can't be read: {error.strerror}") from error
        state = (there.st_ino, there.st_mtime_ns, there.st_size)
        with self._lock:
            if (known := self._known.get(path)) is not None and known[0] == state:
                return known[1]
        try:
            rules = load(path)
        except OSError as error:
            raise AccessRuleError(f"{path} can't be read: {error.strerror}") from error
        with self._lock:
            self._known[path] = (state, rules)
        return rules

    def decide(self, capture: Capture) -> Access:
        """Return what holds for a capture. Raises AccessRuleError."""
        rules = self.rules(capture.collection)
        return Access.ALLOW if rules.is_open else rules.decide(capture.url, capture.date)


_OPEN: Final = AccessRules()
_CLOSED: Final = AccessRules(default=Access.EXCLUDE)


def stricter(first: Access, second: Access) -> Access:
    """Return the access that shows less; the first one when both show the capture."""
    for each in (Access.EXCLUDE, Access.BLOCK):
        if each in (first, second):
            return each
    return first


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AccessRuleError(f"{text[:80]!r} is not JSON") from error
    if not isinstance(found, dict):
        raise AccessRuleError(f"{text[:80]!r} is not a JSON object")
    return found


def _access(value: object) -> Access:
    try:
        return Access(str(value))
    except ValueError as error:
        raise AccessRuleError(f"access {str(value)[:40]!r} is unknown; use one of {', '.join(Access)}") from error


def _period(said: object) -> Period:
    if not isinstance(said, dict):
        raise AccessRuleError(f"{str(said)[:80]!r} is no period")
    return Period(
        before=_moment(said.get("before")),
        after=_moment(said.get("after")),
        newer=_age(said.get("newer")),
        older=_age(said.get("older")),
        at=_moment(said.get("at")),
        since=_moment(said.get("from")),
        until=_moment(said.get("until")),
    )


def _moment(value: object) -> Micros | None:
    try:
        return None if value in (None, "") else parse_date(str(value))
    except (ValueError, OverflowError) as error:
        raise AccessRuleError(f"{str(value)[:40]!r} is no date; write 4 to 14 digits, such as 20260131") from error


def _age(value: object) -> int | None:
    """Return the microseconds of an age such as {"years": 1, "days": 3}."""
    if value is None:
        return None
    if (
        not isinstance(value, dict)
        or not value
        or not all(
            unit in _UNITS and isinstance(count, int | float) and 0 <= count < _MOST_UNITS
            for unit, count in value.items()
        )
    ):
        raise AccessRuleError(f'{str(value)[:80]!r} is no age; write for instance {{"days": 90}}')
    return int(sum(_UNITS[unit] * count for unit, count in value.items()))
