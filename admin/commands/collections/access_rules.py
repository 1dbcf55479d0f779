"""The command `collection access` shows and changes which captures of a collection readers may see."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from admin.collections.access.rule_file import RuleFile
from admin.collections.names import CollectionName, chosen_collection
from admin.options import InputError, common, load_settings
from admin.units import counted
from archive.access_rules import (
    FILE_NAME,
    Access,
    AccessControl,
    AccessRule,
    AccessRuleError,
    AccessRules,
    Period,
    load,
    period_of,
    rule_for,
)
from archive.dates import Micros, now_micros, parse_date

_WORDS = click.Choice([str(word) for word in Access])


@click.group("access")
def access() -> None:
    """Show and change which captures of a collection readers may see, in replay and through the CDX server."""


@access.command("list")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per rule, after one with what else holds.")
def list_rules(home: Path | None, settings_file: Path | None, collection: str, as_json: bool) -> None:
    """List the rules of a collection, the longest first: the first rule that fits decides."""
    rules = _load(_file(home, settings_file, collection))
    embargo = rules.embargo.as_json() if rules.embargo else None
    if as_json:
        click.echo(json.dumps({"default": str(rules.default), "embargo": embargo}))
        for rule in rules.rules:
            click.echo(json.dumps({**asdict(rule), "period": rule.period.as_json()}))
        return
    for rule in rules.rules:
        click.echo(rule.line().rstrip())
    click.echo(f"without a rule: {rules.default}{f', embargo {json.dumps(embargo)}' if embargo else ''}")


@access.command("add")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.argument("access_word", type=_WORDS, metavar="ACCESS")
@click.argument("url")
@click.option("--exact", is_flag=True, help="Only this URL, not all that begin with it.")
@click.option("--before", default="", metavar="DATE", help="Only captures before this date (4 to 14 digits).")
@click.option("--after", default="", metavar="DATE", help="Only captures after this date.")
@click.option("--newer-days", type=click.FloatRange(0), metavar="N", help="Only captures of the last N days.")
def add_rule(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    access_word: str,
    url: str,
    exact: bool,
    before: str,
    after: str,
    newer_days: float | None,
) -> None:
    """Add a rule, or replace the rule for the same URLs and dates.

    ACCESS is exclude (readers don't learn of the captures), block (their content is answered with 451), allow, or
    allow_ignore_embargo. URL is https://example.org/news/ for all that begin so, or *.example.org for a domain.
    """
    path = _file(home, settings_file, collection)
    try:
        period = period_of(before=before, after=after, newer_days=newer_days)
        rule = rule_for(url, Access(access_word), is_exact=exact, period=period)
    except AccessRuleError as error:
        raise InputError(str(error)) from error
    with _locked(path):
        rules = _load(path)
        kept = [each for each in rules.rules if not _is_same(each, rule)]
        _save(AccessRules([*kept, rule], rules.default, rules.embargo), path)
    click.echo(rule.line().rstrip())


@access.command("remove")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.argument("url")
@click.option("--exact", is_flag=True, help="The rule for this URL alone.")
def remove_rule(home: Path | None, settings_file: Path | None, collection: str, url: str, exact: bool) -> None:
    """Remove the rules for a URL, a prefix or a domain, written as for `add`."""
    path = _file(home, settings_file, collection)
    try:
        key = rule_for(url, Access.ALLOW, is_exact=exact).key
    except AccessRuleError as error:
        raise InputError(str(error)) from error
    with _locked(path):
        rules = _load(path)
        kept = [each for each in rules.rules if (each.key, each.is_exact) != (key, exact)]
        if len(kept) == len(rules.rules):
            raise InputError(f"URL {url!r} has no rule in {collection}; `collection access list` shows the rules")
        _save(AccessRules(kept, rules.default, rules.embargo), path)
    click.echo(f"{collection}: {counted(len(rules.rules) - len(kept), 'rule')} removed")


@access.command("default")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.argument("access_word", type=_WORDS, metavar="ACCESS")
@click.option("--embargo-days", type=click.FloatRange(0), metavar="N", help="Exclude captures of the last N days.")
@click.option("--embargo-before", default="", metavar="DATE", help="Exclude captures before this date.")
@click.option("--embargo-after", default="", metavar="DATE", help="Exclude captures after this date.")
def set_default(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    access_word: str,
    embargo_days: float | None,
    embargo_before: str,
    embargo_after: str,
) -> None:
    """Set what holds for captures without a rule, and the embargo; without an option there is no embargo."""
    path = _file(home, settings_file, collection)
    try:
        period = period_of(before=embargo_before, after=embargo_after, newer_days=embargo_days)
    except AccessRuleError as error:
        raise InputError(str(error)) from error
    embargo = None if period == Period() else period
    with _locked(path):
        _save(AccessRules(_load(path).rules, Access(access_word), embargo), path)
    click.echo(f"{collection}: {access_word}{', with an embargo' if embargo else ''}")


@access.command("import")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def import_rules(home: Path | None, settings_file: Path | None, collection: str, file: Path) -> None:
    """Add the rules of an access list of pywb (.aclj). Rules for the same URLs and dates are replaced."""
    path = _file(home, settings_file, collection)
    new = _load(file)
    with _locked(path):
        rules = _load(path)
        kept = {_identity(each): each for each in (*rules.rules, *new.rules)}
        _save(AccessRules(kept.values(), rules.default, rules.embargo), path)
    click.echo(f"{collection}: {counted(len(new.rules), 'rule')} imported")


@access.command("match")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.argument("url")
@click.option("--date", default="", metavar="DIGITS", help="Date of the capture, 4 to 14 digits.  [now]")
def match(home: Path | None, settings_file: Path | None, collection: str, url: str, date: str) -> None:
    """Show what holds for a capture of a URL, by these rules and by those of curation."""
    settings = load_settings(home, settings_file)
    name = chosen_collection(settings, collection)
    control = AccessControl(settings.home / "collections", settings.curation.access_policy())
    rules = _checked(lambda: control.rules(name))
    try:
        moment: Micros = parse_date(date) if date else now_micros()
    except ValueError as error:
        raise InputError(f"--date {date!r} is no date; write 4 to 14 digits, such as 20260131") from error
    click.echo(str(rules.decide(url if "://" in url else f"http://{url}", moment)))


def _file(home: Path | None, settings_file: Path | None, collection: str) -> Path:
    settings = load_settings(home, settings_file)
    return settings.collection(chosen_collection(settings, collection)) / FILE_NAME


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let no other process, such as the admin site, change the rules within the block."""
    with ExitStack() as stack:
        _checked(lambda: stack.enter_context(RuleFile(path.parent).locked()))
        yield


def _load(path: Path) -> AccessRules:
    return _checked(lambda: load(path))


def _save(rules: AccessRules, path: Path) -> None:
    _checked(lambda: rules.save(path))


def _checked[T](step: Callable[[], T]) -> T:
    try:
        return step()
    except AccessRuleError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename} can't be used: {error.strerror}") from error


def _is_same(one: AccessRule, other: AccessRule) -> bool:
    return _identity(one) == _identity(other)


def _identity(rule: AccessRule) -> tuple[str, bool, Period, str]:
    return rule.key, rule.is_exact, rule.period, rule.user
