"""URLs of a collection are excluded by their beginning, each time with a reason."""

from __future__ import annotations

import hashlib
from typing import Final

from sqlalchemy import func, select

from admin.curation.descriptions.describe import known_collection, locked_collection
from admin.curation.descriptions.rule_files import write_rules
from admin.harvests.input_checks import note_problem, refuse
from admin.models.curation_tables import CurationExclusion
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import InputModel, OutputModel, Page, numbered_page
from admin.models.transaction import Right, Transaction
from archive.access_rules import Access, AccessRuleError, rule_for
from archive.dates import Micros

MOST_EXCLUSIONS: Final = 20_000
_ENTITY: Final = "exclusion"
_LONGEST_URL: Final = 9_000


class ExclusionCreation(InputModel):
    """The input names URLs that readers shall not see."""

    url: str
    """https://example.org/news/ stands for all URLs that begin so, and *.example.org for a domain."""
    reason: str
    """The reason, which the audit keeps."""


class ExclusionView(OutputModel):
    """The output has the beginning of excluded URLs, and the reason."""

    id: int
    collection: str
    url: str
    reason: str
    created: Micros
    created_by: str


def create_exclusion(transaction: Transaction, name: str, given: ExclusionCreation) -> ExclusionView:
    """Exclude all URLs that begin so from what readers see. Raises InvalidInput, IllegalState and NotFound."""
    transaction.require(Right.CURATE)
    known_collection(transaction, name)
    url = given.url.strip()
    refuse(
        [
            note_problem("reason", given.reason),
            None if given.reason.strip() else Problem("reason", "the exclusion needs a reason; write one"),
            None if len(url) <= _LONGEST_URL and url.isprintable() and " " not in url
            else Problem("url", f"{url[:80]!r} is no URL; write such as https://example.org/news/ on one line"),
        ]
    )  # fmt: skip
    try:
        rule = rule_for(url, Access.EXCLUDE)
    except (AccessRuleError, UnicodeError) as error:
        raise InvalidInput(Problem("url", str(error))) from error
    locked_collection(transaction, name)
    session = transaction.session
    of_collection = CurationExclusion.collection == name
    if (session.scalar(select(func.count()).where(of_collection)) or 0) >= MOST_EXCLUSIONS:
        raise IllegalState(f"{name} has {MOST_EXCLUSIONS:,} exclusions; remove some, or write shorter URLs")
    digest = hashlib.sha256(rule.key.encode("utf-8", "replace")).hexdigest()
    if session.scalar(select(CurationExclusion.id).where(of_collection, CurationExclusion.key_sha256 == digest)):
        raise InvalidInput(Problem("url", f"{url[:200]!r} is excluded already; remove the exclusion first"))
    row = CurationExclusion(
        collection=name,
        url=url,
        key_sha256=digest,
        reason=given.reason.strip(),
        created=transaction.now,
        created_by=transaction.actor.name,
    )
    session.add(row)
    session.flush()
    transaction.audit("exclusion.create", _ENTITY, row.id, name, new={"url": url, "reason": row.reason})
    write_rules(transaction, name)
    return ExclusionView.model_validate(row)


def remove_exclusion(transaction: Transaction, name: str, id: int) -> None:
    """Let readers see the URLs again. Raises NotFound."""
    transaction.require(Right.CURATE)
    known_collection(transaction, name)
    locked_collection(transaction, name)
    row = transaction.session.get(CurationExclusion, id) if 0 < id < 2**63 else None
    if row is None or row.collection != name:
        raise NotFound(f"exclusion of {name}", id)
    transaction.audit("exclusion.remove", _ENTITY, row.id, name, old={"url": row.url, "reason": row.reason})
    transaction.session.delete(row)
    write_rules(transaction, name)


def list_exclusions(
    transaction: Transaction, name: str, *, after: str | None = None, limit: int = 100
) -> Page[ExclusionView]:
    """Return the exclusions of a collection, in the order in which they were made."""
    transaction.require(Right.READ)
    known_collection(transaction, name)
    query = select(CurationExclusion).where(CurationExclusion.collection == name)
    return numbered_page(transaction, query, CurationExclusion.id, ExclusionView.of_rows, after=after, limit=limit)


def rewrite_rules(transaction: Transaction, name: str) -> None:
    """Write the rules of curation for a collection anew, such as after its folder was put back. Raises NotFound."""
    transaction.require(Right.CURATE)
    known_collection(transaction, name)
    locked_collection(transaction, name)
    transaction.audit("description.rewrite-rules", "description", name, name)
    write_rules(transaction, name)
