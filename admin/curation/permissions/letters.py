"""Letters to the owners of sites are written from templates, to copy or to send by the mail outbox."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sqlalchemy import select

from admin.curation.permissions.permission import ENTITY, PermissionView, find, note_event, view
from admin.harvests.input_checks import checked_key, name_problem, note_problem, refuse
from admin.harvests.named_rows import find_named, lock_named
from admin.models.curation_tables import LetterTemplate
from admin.models.errors import IllegalState, Problem
from admin.models.operation import InputModel, OutputModel, Page, checked_limit
from admin.models.transaction import Right, Transaction
from admin.notifications.outbox import one_line, send_letter
from archive.dates import Micros, iso_date

FIELDS: Final = ("site", "contact", "email", "licence", "licence_url", "granted_until", "today", "person")
_FIELD: Final = re.compile(r"\{(\w{1,40})\}")
_TEMPLATE: Final = "letter template"
_LONGEST_SUBJECT: Final = 300
DEFAULT_NAME: Final = "default"
DEFAULT_SUBJECT: Final = "Permission to archive {site}"
DEFAULT_BODY: Final = """Dear {contact},

we would like to archive {site} and to show the archived pages to our readers.

Please tell us whether you allow this, until when, and under which licence.

Kind regards
{person}
"""


class LetterTemplateInput(InputModel):
    """The input has the text of a letter. Fields in braces are filled in, such as {site}, {contact} and {today}."""

    subject: str
    body: str
    """The text of the letter."""
    edition: int | None = None


class LetterTemplateView(OutputModel):
    """The output has the text of a letter with its fields in braces."""

    name: str
    subject: str
    body: str
    edition: int


class LetterInput(InputModel):
    """The input chooses the template of a letter."""

    template: str = DEFAULT_NAME
    is_sent: bool = False
    """The letter is sent to the owner's e-mail address; otherwise it is written for a person to copy."""


class LetterView(OutputModel):
    """The output is a letter with its fields filled in."""

    to: str
    subject: str
    body: str
    is_sent: bool
    permission: PermissionView


def list_templates(transaction: Transaction, *, after: str | None = None, limit: int = 100) -> Page[LetterTemplateView]:
    """Return the letter templates that people saved, by name. The template `default` is always there."""
    transaction.require(Right.READ)
    size = checked_limit(limit)
    query = select(LetterTemplate).order_by(LetterTemplate.name)
    if checked_key("after", after) is not None:
        query = query.where(LetterTemplate.name > after)
    rows = transaction.session.scalars(query.limit(size + 1)).all()
    items = [LetterTemplateView.model_validate(each) for each in rows[:size]]
    return Page(items=items, next=items[-1].name if len(rows) > size else None)


def show_template(transaction: Transaction, name: str) -> LetterTemplateView:
    """Return a letter template. Raises NotFound."""
    transaction.require(Right.READ)
    return _template(transaction, name)


def save_template(transaction: Transaction, name: str, given: LetterTemplateInput) -> LetterTemplateView:
    """Save a letter template, a new one or one that is there. Raises InvalidInput with unknown fields."""
    transaction.require(Right.CURATE)
    unknown = sorted({each for each in _FIELD.findall(given.subject + given.body) if each not in FIELDS})
    named = select(LetterTemplate).where(LetterTemplate.name == name)
    row = None if note_problem("name", name) else transaction.session.scalars(named).one_or_none()
    refuse(
        [
            name_problem("name", name, row.name if row is not None else None),
            note_problem("subject", given.subject, _LONGEST_SUBJECT),
            note_problem("body", given.body),
            *(Problem("body", f"{{{each}}} is no field; use {', '.join(FIELDS)}") for each in unknown),
        ]
    )
    old = None
    if row is None:
        row = LetterTemplate(name=name, edition=0)
        transaction.session.add(row)
    else:
        old = {"subject": row.subject, "body": row.body}
    transaction.check_edition(_TEMPLATE, name, row, given.edition)
    row.subject, row.body = given.subject, given.body
    transaction.session.flush()
    new = {"subject": row.subject, "body": row.body}
    if old != new:
        transaction.audit("letter.save-template", _TEMPLATE, row.id, name, old=old, new=new)
    return LetterTemplateView.model_validate(row)


def remove_template(transaction: Transaction, name: str) -> None:
    """Remove a letter template; `default` then has its first text again. Raises NotFound."""
    transaction.require(Right.CURATE)
    row = lock_named(transaction, LetterTemplate, _TEMPLATE, name)
    old = {"subject": row.subject, "body": row.body}
    transaction.audit("letter.remove-template", _TEMPLATE, row.id, name, old=old)
    transaction.session.delete(row)
    transaction.session.flush()


def write_letter(transaction: Transaction, id: int, given: LetterInput) -> LetterView:
    """Write a letter to the owner of a site, and send it when that is asked for.

    Raises NotFound, and IllegalState when there is no address, or no user in whose name the letter is sent.
    """
    transaction.require(Right.CURATE)
    row = find(transaction, id)
    template = _template(transaction, given.template)
    values = {
        **{field: getattr(row, field) for field in ("site", "contact", "email", "licence", "licence_url")},
        "granted_until": _day(row.granted_until),
        "today": _day(transaction.now),
        "person": transaction.actor.name,
    }
    subject, body = one_line(filled(template.subject, values), _LONGEST_SUBJECT), filled(template.body, values)
    if given.is_sent:
        if not row.email:
            raise IllegalState(f"{row.site} has no e-mail address of an owner; add it, or copy the letter")
        if transaction.actor.user_id is None:
            raise IllegalState(
                "a letter is sent in the name of a user; use the site or an API token, or copy the letter"
            )
        send_letter(transaction, row.email, subject, body)
    row.asked = transaction.now
    what = "letter-sent" if given.is_sent else "letter-written"
    note_event(transaction, row, what, f"{subject}\n\n{body}")
    transaction.audit("permission.write-letter", ENTITY, row.id, row.site, new={"what": what, "subject": subject})
    transaction.session.flush()
    return LetterView(
        to=row.email, subject=subject, body=body, is_sent=given.is_sent, permission=view(transaction, row)
    )


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its fields filled in, once: a value that looks like a field stays as it is. Pure."""
    return _FIELD.sub(lambda found: values.get(found[1], found[0]), text)


def _template(transaction: Transaction, name: str) -> LetterTemplateView:
    query = select(LetterTemplate).where(LetterTemplate.name == DEFAULT_NAME)
    if name == DEFAULT_NAME and transaction.session.scalars(query).one_or_none() is None:
        return LetterTemplateView(name=name, subject=DEFAULT_SUBJECT, body=DEFAULT_BODY, edition=0)
    return LetterTemplateView.model_validate(find_named(transaction, LetterTemplate, _TEMPLATE, name))


def _day(moment: Micros | None) -> str:
    return "" if moment is None else iso_date(moment)[:10]
