"""A job's crawl profile has the template's values, with a configuration's attributes, traps and limits put in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from admin.harvests.templates.profile_values import JobLimits, profile_of
from admin.models.errors import UseCaseError
from admin.models.harvest_tables import Template, TemplateVersion
from frontier.definition.job import JobError


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """A job template is the newest version of a template."""

    name: str
    version: int
    text: str


def newest_version(session: Session, name: str) -> JobTemplate:
    """Return the template's newest version. Raises UseCaseError when there is none."""
    found = session.execute(
        select(TemplateVersion.number, TemplateVersion.text)
        .join(Template, Template.id == TemplateVersion.template_id)
        .where(Template.name == name)
        .order_by(TemplateVersion.number.desc())
        .limit(1)
    ).one_or_none()
    if found is None:
        raise UseCaseError(f"template {name!r} has no version; upload one")
    return JobTemplate(name, *found)


def merged(
    template: JobTemplate, attributes: Mapping[str, Any], traps: Iterable[str], max_seconds: int
) -> dict[str, Any]:
    """Return the profile of a job, as JSON holds it. Raises UseCaseError when the values make none."""
    try:
        return profile_of(template.text, attributes=attributes, limits=JobLimits(seconds=max_seconds), traps=traps)
    except (JobError, UseCaseError) as error:
        by = f" with the attributes {str(dict(attributes))[:200]}" if attributes else ""
        raise UseCaseError(
            f"template {template.name!r} version {template.version} makes no profile{by}: {error}"
        ) from error


def trap_of_domain(expression: str, domain: str) -> str:
    """Return a crawler trap that is found only in URLs of the domain and its subdomains.

    An expression that can't stand in another, as one with global flags, is returned as it is.
    """
    scoped = rf"^(?=https?://(?:[^/?#]*[.@])?{re.escape(domain)}(?:[:/?#]|$))(?=.*(?:{expression}))"
    try:
        re.compile(scoped)
    except re.error:
        return expression
    return scoped
