"""These pages list, add, change and remove the access rules of a collection, and try them with a URL."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.collections.access import rules
from admin.collections.access.data import (
    AccessDefaultChange,
    AccessRuleChange,
    AccessRuleCreation,
    AccessRuleView,
    AccessView,
    PeriodView,
)
from admin.models.errors import UseCaseError
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, reading, saving, transaction
from archive.access_rules import Access

BLUEPRINT: Final = Blueprint("access", __name__, url_prefix="/<name>/access")
_PERIOD: Final = {"before": "", "after": "", "newer_days": "", "older_days": ""}
_WORDS: Final = (
    (Access.EXCLUDE, "exclude: readers don't learn of the captures"),
    (Access.BLOCK, "block: the captures are listed, and their content is answered with 451"),
    (Access.ALLOW, "allow: readers see the captures, unless the embargo holds"),
    (Access.ALLOW_IGNORE_EMBARGO, "allow_ignore_embargo: readers see the captures in any case"),
)


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index(name: str) -> Response:
    """List the access rules of a collection, and say what they mean for a URL."""
    sent = {field: request.args.get(field, "").strip() for field in ("text", "url", "date")}
    form, decision = Form(sent), None
    with reading() as opened:
        default = rules.show_access(opened, name)
        try:
            found = rules.list_rules(opened, name, text=sent["text"] or None, after=request.args.get("after"))
            if sent["url"]:
                decision = rules.match(opened, name, url=sent["url"], date=sent["date"] or None)
        except UseCaseError as error:
            form.take(error)
            found = rules.list_rules(opened, name)
    status = 422 if form.has_problems else 200
    return page(
        "collections/access.html",
        status,
        name=name,
        default=default,
        rules=found,
        form=form,
        decision=decision,
        period=period_text,
    )


@BLUEPRINT.route("/rules/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.CURATE)
def create(name: str) -> Response:
    """Add an access rule."""
    read(rules.show_access, name)
    form = Form({"url": request.args.get("url", ""), "access": Access.EXCLUDE, **_PERIOD}, switches=("is_exact",))
    if form.is_sent and (made := form.run(saving(rules.create_rule, name), AccessRuleCreation, _values)) is not None:
        return done(f"The rule for {made.url} was saved. Readers notice it at once.", ".index", name=name)
    return _rule_page(form, name, None)


@BLUEPRINT.route("/rules/<rule>", methods=["GET", "POST"], endpoint="edit")
@needs(Right.CURATE)
def edit(name: str, rule: str) -> Response:
    """Change an access rule."""
    found = read(rules.show_rule, name, rule)
    form = Form(_shown(found), switches=("is_exact",))
    if form.is_sent:
        made = form.run(
            saving(rules.change_rule, name, rule),
            AccessRuleChange,
            _values,
            lambda: _shown(read(rules.show_rule, name, rule)),
        )
        if made is not None:
            return done(f"The rule for {made.url or made.key} was saved.", ".index", name=name)
    return _rule_page(form, name, found)


@BLUEPRINT.post("/rules/<rule>/remove", endpoint="remove")
@needs(Right.CURATE)
def remove(name: str, rule: str) -> Response:
    """Remove an access rule."""
    with transaction() as opened:
        found = rules.show_rule(opened, name, rule)
        rules.remove_rule(opened, name, rule)
    return done(f"The rule for {found.url or found.key} was removed.", ".index", name=name)


@BLUEPRINT.route("/default", methods=["GET", "POST"], endpoint="default")
@needs(Right.CURATE)
def default(name: str) -> Response:
    """Change what holds for captures without a rule, and the embargo."""
    found = read(rules.show_access, name)
    form = Form(_default_shown(found))
    if form.is_saved_by(
        saving(rules.change_default, name),
        AccessDefaultChange,
        _values,
        lambda: _default_shown(read(rules.show_access, name)),
    ):
        return done("What holds without a rule was saved.", ".index", name=name)
    status = 422 if form.has_problems else 200
    return page("collections/access_default.html", status, name=name, form=form, words=_WORDS)


def period_text(period: PeriodView) -> str:
    """Return the dates of a rule in words; empty for all dates."""
    moments = [
        f"{word} {_moment(digits)}" for word, digits in (("after", period.after), ("before", period.before)) if digits
    ]
    ages = [
        f"{words} {days:g} {'day' if days == 1 else 'days'}"
        for words, days in (("of the last", period.newer_days), ("older than", period.older_days))
        if days is not None
    ]
    return ", ".join((*moments, *ages))


def _moment(digits: str) -> str:
    """Return 14 digits as people read a date, without the time at midnight."""
    date, time = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}", f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}"
    return date if digits[8:] == "000000" else f"{date} {time}"


def _rule_page(form: Form, name: str, found: AccessRuleView | None) -> Response:
    status = 422 if form.has_problems else 200
    return page("collections/access_rule.html", status, name=name, rule=found, form=form, words=_WORDS)


def _values(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use cases take, of the texts of a form: an empty number of days is none."""
    return {field: None if field.endswith("_days") and not value else value for field, value in sent.items()}


def _shown(found: AccessRuleView) -> dict[str, Any]:
    values = {"url": found.url, "access": found.access, "is_exact": found.is_exact, "edition": found.edition}
    return {**values, **_period_shown(found)}


def _default_shown(found: AccessView) -> dict[str, Any]:
    return {"access": found.access, "edition": found.edition, **_period_shown(found)}


def _period_shown(found: PeriodView) -> dict[str, Any]:
    days = {field: getattr(found, field) for field in ("newer_days", "older_days")}
    shown = {field: "" if value is None else f"{value:g}" for field, value in days.items()}
    return {"before": found.before, "after": found.after, **shown}
