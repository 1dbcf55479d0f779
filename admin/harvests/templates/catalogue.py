"""Use cases: templates are made, changed, copied, switched on and off, deleted, listed and shown.

A version never changes: each new text is a new version, kept to the byte. Jobs keep the values that they were made
with, so that nothing here touches a job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Select, func, select

from admin.harvests.input_checks import checked_key, contains, count_up_to_limit, note_problem, refuse
from admin.harvests.named_rows import find_named, lock_named, new_name_problem
from admin.harvests.templates.comparison import side_by_side, unified_difference, value_differences
from admin.harvests.templates.data import (
    Comparison,
    Edition,
    NewTemplate,
    NewVersion,
    TemplateChange,
    TemplateCopy,
    TemplateLine,
    TemplateOfJob,
    TemplateUser,
    TemplateView,
    VersionLine,
    VersionView,
)
from admin.harvests.templates.stock import DEFAULT_TEMPLATE, stock_text
from admin.harvests.templates.verification import problems_of
from admin.harvests.templates.yaml_edit import changed_text
from admin.models.domain_tables import Configuration, Domain
from admin.models.errors import IllegalState, NotFound
from admin.models.harvest_tables import Template, TemplateVersion
from admin.models.job_tables import HarvestJob
from admin.models.operation import Page, checked_limit, number_after, numbered_page
from admin.models.transaction import Right, Transaction

ENTITY: Final = "template"
_SHOWN_USERS: Final = 5


def create_template(transaction: Transaction, given: NewTemplate) -> TemplateView:
    """Make a template with its first version. Raises InvalidInput with everything that is wrong."""
    transaction.require(Right.CURATE)
    problems = problems_of(given.text)  # before the first query, as patterns are tried for a while
    refuse(
        [
            new_name_problem(transaction, Template, ENTITY, given.name),
            note_problem("comments", given.comments),
            note_problem("version_comments", given.version_comments),
            *problems,
        ]
    )
    return _made(transaction, "template.create", given)


def change_template(transaction: Transaction, name: str, given: TemplateChange) -> TemplateView:
    """Change a template's name and comments; its versions stay."""
    transaction.require(Right.CURATE)
    template = lock_named(transaction, Template, ENTITY, name)
    new = given.model_dump(exclude={"edition"}, exclude_none=True)
    old = {key: getattr(template, key) for key in new}
    refuse(
        [
            new_name_problem(transaction, Template, ENTITY, new["name"])
            if new.get("name", template.name) != template.name
            else None,
            note_problem("comments", new.get("comments", "")),
        ]
    )
    if template.name == DEFAULT_TEMPLATE and new.get("name", template.name) != template.name:
        raise IllegalState(f"the template {template.name!r} can't have another name: {_WHY_DEFAULT}; copy it instead")
    transaction.check_edition(ENTITY, name, template, given.edition)
    differing = [key for key in new if new[key] != old[key]]
    for key in differing:
        setattr(template, key, new[key])
    transaction.audit(
        "template.change",
        ENTITY,
        template.id,
        template.name,
        old={key: old[key] for key in differing},
        new={key: new[key] for key in differing},
    )
    return _view(transaction, template)


def add_version(transaction: Transaction, name: str, given: NewVersion) -> TemplateView:
    """Give a template a new text, which becomes its present version.

    A text that is the present one makes no version. Raises InvalidInput with everything that is wrong.
    """
    transaction.require(Right.CURATE)
    problems = problems_of(given.text)  # before the lock, as patterns are tried for a while
    template = lock_named(transaction, Template, ENTITY, name)
    refuse([note_problem("comments", given.comments), *problems])
    present = present_version(transaction, template.id)
    digest = _digest(given.text)
    if digest == present.sha256:
        return _view(transaction, template)
    transaction.check_edition(ENTITY, name, template, given.edition)
    version = _version(transaction, template, int(present.number) + 1, given.text, given.comments)
    transaction.audit(
        "template.add-version",
        ENTITY,
        template.id,
        template.name,
        old={"version": present.number, "sha256": present.sha256},
        new={"version": version.number, "sha256": version.sha256},
    )
    transaction.session.flush()
    return _view(transaction, template)


def restore_version(transaction: Transaction, name: str, number: int, given: Edition) -> TemplateView:
    """Make an old version the present one: a new version gets its text. Raises InvalidInput when it is wrong by now."""
    transaction.require(Right.CURATE)
    version = _numbered(transaction, find_named(transaction, Template, ENTITY, name), number)
    comments = f"restored from version {version.number}"
    return add_version(transaction, name, NewVersion(text=version.text, comments=comments, edition=given.edition))


def copy_template(transaction: Transaction, name: str, given: TemplateCopy) -> TemplateView:
    """Make a template whose first version has the text of a version of another template."""
    transaction.require(Right.CURATE)
    template = find_named(transaction, Template, ENTITY, name)
    version = _numbered(transaction, template, given.version)
    refuse(
        [
            new_name_problem(transaction, Template, ENTITY, given.name),
            note_problem("comments", given.comments),
            *problems_of(version.text),
        ]
    )
    source = f"copy of {template.name}, version {version.number}"
    new = NewTemplate(name=given.name, text=version.text, comments=given.comments, version_comments=source)
    return _made(transaction, "template.copy", new, source=f"{template.name}/{version.number}")


def template_of_job(transaction: Transaction, job_id: int, given: TemplateOfJob) -> TemplateView:
    """Make a template whose values are those of the profile that a job ran with."""
    transaction.require(Right.CURATE)
    job = transaction.session.get(HarvestJob, job_id)
    if job is None:
        raise NotFound("job", job_id)
    text = changed_text(stock_text(DEFAULT_TEMPLATE), job.profile)
    refuse(
        [
            new_name_problem(transaction, Template, ENTITY, given.name),
            note_problem("comments", given.comments),
            *problems_of(text),
        ]
    )
    source = f"profile of job {job_id}"
    new = NewTemplate(name=given.name, text=text, comments=given.comments, version_comments=source)
    return _made(transaction, "template.of-job", new, source=f"job {job_id}")


def activate_template(transaction: Transaction, name: str, given: Edition) -> TemplateView:
    """Let configurations choose the template again."""
    return _switched(transaction, name, given, is_active=True)


def deactivate_template(transaction: Transaction, name: str, given: Edition) -> TemplateView:
    """Keep configurations from choosing the template; those that use it go on using it."""
    return _switched(transaction, name, given, is_active=False)


def delete_template(transaction: Transaction, name: str, edition: int | None = None) -> None:
    """Delete a template with all its versions. Raises IllegalState while configurations use it."""
    transaction.require(Right.CURATE)
    template = lock_named(transaction, Template, ENTITY, name)
    if template.name == DEFAULT_TEMPLATE:
        raise IllegalState(f"the template {name!r} can't be deleted: {_WHY_DEFAULT}; give it a new version instead")
    used = transaction.session.scalars(_users(template).limit(_SHOWN_USERS + 1)).all()
    if used:
        shown = ", ".join(f"{each.configuration} of {each.domain}" for each in _named(transaction, used[:_SHOWN_USERS]))
        number = count_up_to_limit(transaction, _users(template))
        count = f"{number:,}" if number is not None else "more than 10,000"
        raise IllegalState(
            f"the template {name!r} can't be deleted: {count} configurations use it"
            f" ({shown}{', …' if len(used) > _SHOWN_USERS else ''}); give them another template, or deactivate this one"
        )
    transaction.check_edition(ENTITY, name, template, edition)
    present = present_version(transaction, template.id)
    transaction.audit(
        "template.delete",
        ENTITY,
        template.id,
        template.name,
        old={"comments": template.comments, "version": present.number, "sha256": present.sha256},
    )
    transaction.session.delete(template)
    transaction.session.flush()


def list_templates(
    transaction: Transaction,
    *,
    search: str = "",
    is_active: bool | None = None,
    after: str | None = None,
    limit: int = 100,
) -> Page[TemplateLine]:
    """Return templates by name; `search` is a part of the name."""
    transaction.require(Right.READ)
    size = checked_limit(limit)
    checked_key("search", search)
    query = _lines()
    if search:
        query = query.where(contains(Template.name, search))
    if is_active is not None:
        query = query.where(Template.is_active == is_active)
    found = query.where(Template.name > after) if checked_key("after", after) is not None else query
    rows = transaction.session.execute(found.order_by(Template.name).limit(size + 1)).all()
    items = [TemplateLine.model_validate(row) for row in rows[:size]]
    following = items[-1].name if len(rows) > size else None
    return Page(items=items, next=following, total=count_up_to_limit(transaction, query))


def show_template(transaction: Transaction, name: str) -> TemplateView:
    """Return a template with the text of its present version."""
    transaction.require(Right.READ)
    return _view(transaction, find_named(transaction, Template, ENTITY, name))


def list_versions(
    transaction: Transaction, name: str, *, after: str | None = None, limit: int = 100
) -> Page[VersionLine]:
    """Return the versions of a template, newest first."""
    transaction.require(Right.READ)
    template = find_named(transaction, Template, ENTITY, name)
    size = checked_limit(limit)
    columns = (
        TemplateVersion.number,
        TemplateVersion.comments,
        TemplateVersion.created,
        TemplateVersion.created_by,
        TemplateVersion.sha256,
        func.length(TemplateVersion.text).label("characters"),
    )
    query = select(*columns).where(TemplateVersion.template_id == template.id)
    found = query.where(TemplateVersion.number < number_after(after)) if after is not None else query
    rows = transaction.session.execute(found.order_by(TemplateVersion.number.desc()).limit(size + 1)).all()
    items = [VersionLine.model_validate(row) for row in rows[:size]]
    following = str(items[-1].number) if len(rows) > size else None
    return Page(items=items, next=following, total=count_up_to_limit(transaction, query))


def show_version(transaction: Transaction, name: str, number: int) -> VersionView:
    """Return one version of a template with its text."""
    transaction.require(Right.READ)
    template = find_named(transaction, Template, ENTITY, name)
    version = _numbered(transaction, template, number)
    present = present_version(transaction, template.id)
    return VersionView(
        template=template.name,
        number=version.number,
        comments=version.comments,
        created=version.created,
        created_by=version.created_by,
        sha256=version.sha256,
        text=version.text,
        is_present=version.id == present.id,
    )


def download_version(transaction: Transaction, name: str, number: int) -> bytes:
    """Return the text of one version as its author wrote it, in UTF-8."""
    transaction.require(Right.READ)
    return _numbered(transaction, find_named(transaction, Template, ENTITY, name), number).text.encode()


def compare_versions(
    transaction: Transaction, name: str, *, old: int, new: int | None = None, other: str | None = None
) -> Comparison:
    """Return what differs between two versions; the new one is of the template `other` when that is given.

    The new version is the present one when its number is left out.
    """
    transaction.require(Right.READ)
    template = find_named(transaction, Template, ENTITY, name)
    second = template if other is None else find_named(transaction, Template, ENTITY, other)
    before, after = _numbered(transaction, template, old), _numbered(transaction, second, new)
    names = f"{template.name}/{before.number}", f"{second.name}/{after.number}"
    return Comparison(
        old=names[0],
        new=names[1],
        is_same=before.text == after.text,
        lines=unified_difference(before.text, after.text, *names),
        rows=side_by_side(before.text, after.text) if before.text != after.text else [],
        values=value_differences(before.text, after.text),
    )


def list_users(
    transaction: Transaction, name: str, *, after: str | None = None, limit: int = 100
) -> Page[TemplateUser]:
    """Return the configurations that use a template, in the order in which they were made."""
    transaction.require(Right.READ)
    template = find_named(transaction, Template, ENTITY, name)
    query = _users(template)

    def views(rows: Sequence[Configuration]) -> list[TemplateUser]:
        return _named(transaction, rows)

    found = numbered_page(transaction, query, Configuration.id, views, after=after, limit=limit)
    return found.model_copy(update={"total": count_up_to_limit(transaction, query)})


def present_version(transaction: Transaction, template_id: int) -> TemplateVersion:
    """Return the newest version of a template."""
    query = select(TemplateVersion).where(TemplateVersion.template_id == template_id)
    return transaction.session.scalars(query.order_by(TemplateVersion.number.desc()).limit(1)).one()


_WHY_DEFAULT: Final = "new domains are given it"


def _made(transaction: Transaction, action: str, given: NewTemplate, **more: Any) -> TemplateView:
    template = Template(name=given.name, comments=given.comments, created=transaction.now, is_active=True, edition=1)
    transaction.session.add(template)
    version = _version(transaction, template, 1, given.text, given.version_comments)
    transaction.session.flush()
    transaction.audit(
        action,
        ENTITY,
        template.id,
        template.name,
        new={"comments": given.comments, "version": 1, "sha256": version.sha256, **more},
    )
    return _view(transaction, template)


def _version(transaction: Transaction, template: Template, number: int, text: str, comments: str) -> TemplateVersion:
    version = TemplateVersion(
        template=template,
        number=number,
        text=text,
        sha256=_digest(text),
        comments=comments,
        created=transaction.now,
        created_by=transaction.actor.name,
    )
    transaction.session.add(version)
    return version


def _switched(transaction: Transaction, name: str, given: Edition, *, is_active: bool) -> TemplateView:
    transaction.require(Right.CURATE)
    template = lock_named(transaction, Template, ENTITY, name)
    if template.name == DEFAULT_TEMPLATE and not is_active:
        raise IllegalState(f"the template {name!r} can't be deactivated: {_WHY_DEFAULT}")
    if template.is_active != is_active:
        transaction.check_edition(ENTITY, name, template, given.edition)
        template.is_active = is_active
        transaction.audit(
            "template.activate" if is_active else "template.deactivate",
            ENTITY,
            template.id,
            template.name,
            old={"is_active": not is_active},
            new={"is_active": is_active},
        )
    return _view(transaction, template)


def _numbered(transaction: Transaction, template: Template, number: int | None) -> TemplateVersion:
    if number is None:
        return present_version(transaction, template.id)
    query = select(TemplateVersion).where(TemplateVersion.template_id == template.id)
    version = None
    if 0 < number < 2**31:
        version = transaction.session.scalars(query.where(TemplateVersion.number == number)).one_or_none()
    if version is None:
        raise NotFound("version", f"{template.name}/{number}")
    return version


def _users(template: Template) -> Select[Configuration]:
    return select(Configuration).where(Configuration.template_id == template.id)


def _named(transaction: Transaction, users: Iterable[Configuration]) -> list[TemplateUser]:
    query = (
        select(Configuration.id, Configuration.name, Domain.name)
        .join(Domain, Domain.id == Configuration.domain_id)
        .where(Configuration.id.in_([each.id for each in users]))
        .order_by(Configuration.id)
    )
    rows = transaction.session.execute(query)
    return [TemplateUser(domain=domain, configuration=configuration) for _, configuration, domain in rows]


def _lines() -> Any:
    """Return the query of templates with their present versions."""
    newest = (
        select(func.max(TemplateVersion.number))
        .where(TemplateVersion.template_id == Template.id)
        .correlate(Template)
        .scalar_subquery()
    )
    return select(
        Template.name,
        Template.comments,
        Template.is_active,
        Template.created,
        Template.edition,
        TemplateVersion.number.label("version"),
        TemplateVersion.created.label("changed"),
        TemplateVersion.created_by.label("changed_by"),
    ).join(TemplateVersion, (TemplateVersion.template_id == Template.id) & (TemplateVersion.number == newest))


def _view(transaction: Transaction, template: Template) -> TemplateView:
    version = present_version(transaction, template.id)
    return TemplateView(
        name=template.name,
        comments=template.comments,
        is_active=template.is_active,
        version=version.number,
        created=template.created,
        changed=version.created,
        changed_by=version.created_by,
        edition=template.edition,
        text=version.text,
        sha256=version.sha256,
        configurations=count_up_to_limit(transaction, _users(template)),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
