"""Show and change the access rules of a collection. Each change leaves an audit entry, and takes effect at once.

The rules are a file, and a transaction can't take the change of a file back: the file is written last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from admin.collections.access.data import (
    AccessDecision,
    AccessDefaultChange,
    AccessListUpload,
    AccessRuleChange,
    AccessRuleCreation,
    AccessRulePage,
    AccessRuleView,
    AccessView,
    PeriodInput,
)
from admin.collections.access.rule_file import EditedRules, RuleFile, id_of
from admin.collections.browsing.index import check_collection, index_if_any
from admin.collections.marks import unfinished_deletions, unfinished_renaming
from admin.models.errors import EditConflict, IllegalState, InvalidInput, NotFound, Problem
from admin.models.transaction import Right, Transaction
from archive.access_rules import (
    Access,
    AccessControl,
    AccessRule,
    AccessRuleError,
    AccessRules,
    Period,
    parse_rule,
    rule_for,
)
from archive.dates import parse_date, timestamp14
from archive.settings.load import Settings

MOST: Final = 500
MOST_RULES: Final = 200_000
_ENTITY: Final = "collection"
_HOURS_OF_A_DAY: Final = 24
_SECOND_DIGITS: Final = 14
_HOUR: Final = 3_600_000_000
_BOUNDS: Final = ("before", "after", "newer_days", "older_days")


def show_access(transaction: Transaction, name: str) -> AccessView:
    """Return what holds for captures of the collection without a rule. Raises NotFound and IllegalState."""
    transaction.require(Right.READ)
    return _access_view(_read(transaction, name)[1])


def list_rules(
    transaction: Transaction, name: str, *, text: str | None = None, after: str | None = None, limit: int = 100
) -> AccessRulePage:
    """Return the rules whose URL or key has the text, the longest first; `after` is the id of the last one before."""
    transaction.require(Right.READ)
    found = _read(transaction, name)[1]
    wanted = max(1, min(limit, MOST))
    rules: Sequence[AccessRule] = found.rules.rules
    if text:
        sought = text.strip().lower()
        rules = [each for each in rules if sought in each.url.lower() or sought in each.key]
    start = 0
    if after:
        place = next((number for number, each in enumerate(rules) if id_of(each) == after), None)
        if place is None:
            raise InvalidInput(
                Problem("after", f"{after[:40]!r} is no rule of this list, or was removed; begin at the first page")
            )
        start = place + 1
    shown = [_rule_view(each, found.edition) for each in rules[start : start + wanted]]
    is_more = len(rules) > start + wanted
    return AccessRulePage(items=shown, next=shown[-1].id if is_more else None, total=len(rules))


def show_rule(transaction: Transaction, name: str, rule: str) -> AccessRuleView:
    """Return one rule. Raises NotFound and IllegalState."""
    transaction.require(Right.READ)
    found = _read(transaction, name)[1]
    return _rule_view(_with_id(found, rule), found.edition)


def match(transaction: Transaction, name: str, *, url: str, date: str | None = None) -> AccessDecision:
    """Return what holds for a capture of a URL at a date, or now. Raises InvalidInput, NotFound and IllegalState."""
    transaction.require(Right.READ)
    _read(transaction, name)
    text = url.strip()[:9_000]
    address = text if "://" in text else f"http://{text}"
    try:
        rule_for(text, Access.ALLOW)
    except (AccessRuleError, UnicodeError) as error:
        raise InvalidInput(
            Problem("url", f"{text[:200]!a} is no URL; write such as https://example.org/news/")
        ) from error
    moment = transaction.now if not date else _date("date", date)
    return AccessDecision(
        url=address,
        date=timestamp14(moment),
        access=_in_force(transaction.settings, name).decide(address, moment, transaction.now),
    )


def create_rule(transaction: Transaction, name: str, given: AccessRuleCreation) -> AccessRuleView:
    """Add a rule, or replace the rule for the same URLs and dates. Raises InvalidInput, NotFound and IllegalState."""
    transaction.require(Right.CURATE)
    new = _new_rule(given.url, given, is_exact=given.is_exact, access=given.access)
    with _changing(transaction, name, None) as (found, write):
        old = found.with_id(id_of(new))
        kept = [each for each in found.rules.rules if id_of(each) != id_of(new)]
        _check_number(len(kept) + 1)
        _audit(transaction, "access-rule.create", name, old, new)
        written = write(AccessRules([*kept, new], found.rules.default, found.rules.embargo))
    return _rule_view(new, written.edition)


def change_rule(transaction: Transaction, name: str, rule: str, given: AccessRuleChange) -> AccessRuleView:
    """Change a rule. Raises EditConflict, InvalidInput, NotFound and IllegalState."""
    transaction.require(Right.CURATE)
    with _changing(transaction, name, given.edition) as (found, write):
        old = _with_id(found, rule)
        if given.url.strip():
            new = _new_rule(given.url, given, is_exact=given.is_exact, access=given.access, user=old.user)
        else:
            new = AccessRule(old.key, given.access, given.is_exact, _period(given), old.url, old.user)
        others = [each for each in found.rules.rules if id_of(each) != rule]
        if any(id_of(each) == id_of(new) for each in others):
            raise InvalidInput(Problem("url", "another rule has the same URLs and dates; change or remove that one"))
        _audit(transaction, "access-rule.change", name, old, new)
        written = write(AccessRules([*others, new], found.rules.default, found.rules.embargo))
    return _rule_view(new, written.edition)


def remove_rule(transaction: Transaction, name: str, rule: str, *, edition: int | None = None) -> None:
    """Remove a rule. Raises EditConflict, NotFound and IllegalState."""
    transaction.require(Right.CURATE)
    with _changing(transaction, name, edition) as (found, write):
        old = _with_id(found, rule)
        kept = [each for each in found.rules.rules if id_of(each) != rule]
        _audit(transaction, "access-rule.remove", name, old, None)
        write(AccessRules(kept, found.rules.default, found.rules.embargo))


def change_default(transaction: Transaction, name: str, given: AccessDefaultChange) -> AccessView:
    """Change what holds for captures without a rule. Raises EditConflict, InvalidInput, NotFound and IllegalState."""
    transaction.require(Right.CURATE)
    period = _period(given)
    with _changing(transaction, name, given.edition) as (found, write):
        new = AccessRules(found.rules.rules, given.access, None if period == Period() else period)
        old_values, new_values = _default_values(found.rules), _default_values(new)
        if old_values != new_values:
            transaction.audit("access-rule.set-default", _ENTITY, name, name, old=old_values, new=new_values)
        return _access_view(write(new))


def upload_rules(transaction: Transaction, name: str, given: AccessListUpload) -> AccessView:
    """Add the rules of an access list of pywb (.aclj); rules for the same URLs and dates are replaced.

    Raises InvalidInput with the numbers of the lines that are no rules; nothing is added then.
    """
    transaction.require(Right.CURATE)
    new: dict[str, AccessRule] = {}
    problems = []
    for number, written in enumerate(given.text.splitlines(), 1):
        try:
            line = written.strip()
            if line and not line.startswith(("#", "!")):
                rule = parse_rule(line)
                new[id_of(rule)] = rule
        except ValueError as error:
            problems.append(Problem("text", str(error)[:500], number))
        if len(problems) >= MOST or len(new) > MOST_RULES:
            break
    if problems:
        raise InvalidInput(*problems)
    if not new:
        raise InvalidInput(Problem("text", 'there is no rule; write lines such as org,example) - {"access": "block"}'))
    with _changing(transaction, name, None) as (found, write):
        kept = [each for each in found.rules.rules if id_of(each) not in new]
        _check_number(len(kept) + len(new))
        transaction.audit("access-rule.upload", _ENTITY, name, name, new={"rules": len(new)})
        return _access_view(write(AccessRules([*kept, *new.values()], found.rules.default, found.rules.embargo)))


def _read(transaction: Transaction, name: str) -> tuple[RuleFile, EditedRules]:
    settings = transaction.settings
    with index_if_any(settings) as index:
        check_collection(settings, index, name)
    file = RuleFile(settings.collection(name))
    try:
        return file, file.read()
    except AccessRuleError as error:
        raise IllegalState(
            f"the access rules of {name} can't be read, so readers see nothing of it; mend the file: {error}"
        ) from error


def _in_force(settings: Settings, name: str) -> AccessRules:
    """Return the rules of people and of curation together, as readers have them. Raises IllegalState."""
    try:
        return AccessControl(settings.home / "collections", settings.curation.access_policy()).rules(name)
    except AccessRuleError as error:
        raise IllegalState(f"the rules of curation can't be read, so readers see nothing: {error}") from error


type _Write = Callable[[AccessRules], EditedRules]


@contextmanager
def _changing(transaction: Transaction, name: str, edition: int | None) -> Iterator[tuple[EditedRules, _Write]]:
    """Yield the present rules and the function that replaces them. No other process changes them meanwhile."""
    file, _ = _read(transaction, name)
    settings = transaction.settings
    if name in unfinished_deletions(settings) or unfinished_renaming(settings.collection(name)):
        raise IllegalState(f"collection {name} is only partly deleted or renamed; complete that first")

    def write(rules: AccessRules) -> EditedRules:
        transaction.session.flush()  # what the database refuses must not be found out after the file was written
        return file.write(rules)

    try:
        with file.locked():
            found = _read(transaction, name)[1]
            if edition is not None and edition != found.edition:
                raise EditConflict("access rules of collection", name, edition, found.edition)
            yield found, write
    except OSError as error:
        raise IllegalState(f"the access rules of {name} can't be written: {error.strerror}") from error


def _with_id(found: EditedRules, rule: str) -> AccessRule:
    named = found.with_id(rule)
    if named is None:
        raise NotFound("access rule", rule)
    return named


def _new_rule(url: str, given: PeriodInput, *, is_exact: bool, access: Access, user: str = "") -> AccessRule:
    text = url.strip()
    try:
        if not text.isprintable():
            raise AccessRuleError("the URL has a control character; write it on one line")
        made = rule_for(text, access, is_exact=is_exact)
    except UnicodeError as error:
        raise InvalidInput(Problem("url", f"{text[:200]!a} is no text; leave out half characters")) from error
    except AccessRuleError as error:
        raise InvalidInput(
            Problem("url", str(error).replace("leave out --exact", "do not ask for one URL alone"))
        ) from error
    if " " in made.key:
        raise InvalidInput(Problem("url", f"{text[:200]!r} has a space; write %20 for it"))
    return AccessRule(made.key, access, is_exact, _period(given), text, user)


def _period(given: PeriodInput) -> Period:
    """Return the period. Raises InvalidInput that names the field."""
    bounds = {field: _date(field, text) for field in ("before", "after") if (text := getattr(given, field).strip())}
    before, after = bounds.get("before"), bounds.get("after")
    if before is not None and after is not None and after >= before:
        raise InvalidInput(Problem("after", "no capture is after this date and before the other one; exchange the two"))
    return Period(before, after, _age(given.newer_days), _age(given.older_days))


def _date(field: str, text: str) -> int:
    digits = text.strip().translate({ord(each): None for each in "-:TZ "})
    try:
        if len(digits) > _SECOND_DIGITS:
            raise ValueError("the file has no shorter unit than a second")
        return parse_date(digits)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            Problem(field, f"{text[:40]!r} is no date; write such as 2026-01-31, or 4 to 14 digits")
        ) from error


def _age(days: float | None) -> int | None:
    """Return the age in microseconds, in whole hours: the file has no shorter unit."""
    return None if days is None else round(days * _HOURS_OF_A_DAY) * _HOUR


def _check_number(rules: int) -> None:
    if rules > MOST_RULES:
        raise IllegalState(f"a collection may have {MOST_RULES:,} rules; remove some first, or write shorter URLs")


def _audit(transaction: Transaction, action: str, name: str, old: AccessRule | None, new: AccessRule | None) -> None:
    said = [None if each is None else _values(each) for each in (old, new)]
    transaction.audit(action, _ENTITY, name, name, old=said[0], new=said[1])


def _values(rule: AccessRule) -> dict[str, Any]:
    """Return what the audit keeps of a rule."""
    values = {"url": rule.url, "key": rule.key, "is_exact": rule.is_exact, "access": str(rule.access)}
    return {**values, **{name: value for name, value in _bounds(rule.period).items() if value not in (None, "")}}


def _default_values(rules: AccessRules) -> dict[str, Any]:
    return {"access": str(rules.default), **_bounds(rules.embargo or Period())}


def _bounds(period: Period) -> dict[str, Any]:
    """Return the fields of a PeriodView."""
    dates = [timestamp14(each) if each is not None else "" for each in (period.before, period.after)]
    ages = [None if each is None else each / _HOUR / _HOURS_OF_A_DAY for each in (period.newer, period.older)]
    return dict(zip(_BOUNDS, (*dates, *ages), strict=True))


def _rule_view(rule: AccessRule, edition: int) -> AccessRuleView:
    return AccessRuleView(
        id=id_of(rule),
        url=rule.url,
        key=rule.key,
        is_exact=rule.is_exact,
        access=rule.access,
        user=rule.user,
        edition=edition,
        **_bounds(rule.period),
    )


def _access_view(found: EditedRules) -> AccessView:
    return AccessView(
        access=found.rules.default,
        rules=len(found.rules.rules),
        edition=found.edition,
        **_bounds(found.rules.embargo or Period()),
    )
