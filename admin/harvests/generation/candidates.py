"""The configurations of a harvest come as a stream in sorted order, without those that are left out.

The database sorts; this process has one page of rows in memory at a time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import batched
from typing import Any, Final

from sqlalchemy import Select, Text, case, cast, collate, func, select
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from admin.harvests.domains.aliases import alias_in_force
from admin.harvests.generation.expectations import BudgetLimits, PastHarvest, both, expected
from admin.harvests.generation.plan import RunPlan
from admin.harvests.generation.splitting import ConfigurationCandidate, order
from admin.models.base import NO_LIMIT
from admin.models.domain_tables import Configuration, Domain
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, HarvestKind, Template
from admin.models.job_tables import DomainHistory, StopReason
from archive.fast_frozen import fast_frozen
from archive.settings.generation import Reading
from archive.settings.load import Settings

PAGE: Final = 1_000
"""Rows that are looked up together."""
_NO_LIMITS: Final = BudgetLimits()
_NO_ATTRIBUTES: Final = "{}"


class LeftOut(StrEnum):
    """A configuration is left out of a run for one of these reasons."""

    ALIAS = "alias"
    """The domain is an alias of another, and was said to be one not too long ago."""
    COMPLETE_BEFORE = "complete-before"
    """The domain was harvested completely by a snapshot that this snapshot continues."""
    ZERO_BUDGET = "zero-budget"
    NO_SEEDS = "no-seeds"
    PERMISSION_REFUSED = "permission-refused"
    PERMISSION_WITHDRAWN = "permission-withdrawn"
    PERMISSION_EXPIRED = "permission-expired"
    PERMISSION_ASKED = "permission-asked"
    """The harvest takes sites with a permission in force alone, and the owner has not answered yet."""
    PERMISSION_NONE = "permission-none"
    """The harvest takes sites with a permission in force alone, and nobody has asked for one."""


@fast_frozen(frozen=True, slots=True)
class ConfigurationRow:
    """A configuration as the database has it, with its domain and its template."""

    configuration_id: int
    configuration_name: str
    domain_id: int
    domain_name: str
    template: str
    attributes: Mapping[str, Any]
    max_objects: int
    max_bytes: int
    is_alias: bool
    """The domain is an alias in force."""


@fast_frozen(frozen=True, slots=True)
class PastDomain:
    """The end of a domain's harvest in a snapshot."""

    stop_reason: StopReason
    objects: int
    bytes: int


def chunks(
    session: Session, plan: RunPlan, settings: Settings, left_out: Counter[str], *, domain: str | None = None
) -> Iterator[list[ConfigurationCandidate]]:
    """Yield the candidates of a run in chunks, each in the order in which jobs are filled.

    `left_out` counts the configurations that are left out, by reason. With `domain`, the run is of this domain alone.
    """
    kept = _kept(session, plan, settings, left_out, domain)
    for chunk in batched(kept, settings.generation.chunk_configurations):
        yield sorted(
            _candidates(session, plan, settings, chunk), key=lambda candidate: order(candidate, settings.generation)
        )


def why_left_out(row: ConfigurationRow, plan: RunPlan, settings: Settings, past: PastDomain | None) -> LeftOut | None:
    """Return why the configuration is left out of a run; None when it is not."""
    if settings.generation.exclude_zero_budget and 0 in (row.max_bytes, row.max_objects, *_harvest_limits(plan)):
        return LeftOut.ZERO_BUDGET
    if plan.kind != HarvestKind.SNAPSHOT:
        return None
    if row.is_alias:
        return LeftOut.ALIAS
    limits = BudgetLimits(row.max_objects, row.max_bytes)
    if past is not None and is_complete_before(past, limits, settings.generation.completed_domains):
        return LeftOut.COMPLETE_BEFORE
    return None


def is_complete_before(past: PastDomain, limits: BudgetLimits, reading: Reading) -> bool:
    """Return whether a continued snapshot has no need to harvest the domain again.

    The reading "seed" drops domains that were complete. NetarchiveSuite drops unfinished ones too, and those that met
    a limit of their configuration, unless the limit is now above what was fetched.
    """
    if past.stop_reason == StopReason.COMPLETE:
        return True
    if reading == "seed":
        return False
    if past.stop_reason == StopReason.UNFINISHED:
        return True
    if past.stop_reason == StopReason.CONFIGURATION_SIZE_LIMIT:
        return limits.bytes != NO_LIMIT and limits.bytes <= past.bytes
    if past.stop_reason == StopReason.CONFIGURATION_OBJECT_LIMIT:
        return limits.objects != NO_LIMIT and limits.objects <= past.objects
    return False


def best_harvests(session: Session, configurations: Sequence[int]) -> dict[int, PastHarvest]:
    """Return the best earlier harvest of each configuration that has one.

    The best harvest is the newest complete one; else the one with the most objects, of these the newest.
    """
    is_complete = case((DomainHistory.stop_reason == StopReason.COMPLETE, 1), else_=0)
    rank = func.row_number().over(
        partition_by=DomainHistory.configuration_id,
        order_by=(
            is_complete.desc(),
            case((is_complete == 1, DomainHistory.ended), else_=DomainHistory.objects).desc(),
            DomainHistory.ended.desc(),
            DomainHistory.id.desc(),
        ),
    )
    ranked = (
        select(
            DomainHistory.configuration_id,
            DomainHistory.objects,
            DomainHistory.bytes,
            is_complete.label("is_complete"),
            DomainHistory.ended,
            rank.label("rank"),
        )
        .where(DomainHistory.configuration_id.in_(configurations))
        .subquery()
    )
    columns = ranked.c
    found = session.execute(
        select(columns.configuration_id, columns.objects, columns.bytes, columns.is_complete, columns.ended).where(
            columns.rank == 1
        )
    )
    return {
        identifier: PastHarvest(objects, size, bool(done), ended) for identifier, objects, size, done, ended in found
    }


def _kept(
    session: Session, plan: RunPlan, settings: Settings, left_out: Counter[str], domain: str | None
) -> Iterator[ConfigurationRow]:
    for page in batched(_rows(session, plan, settings, domain), PAGE):
        ended = _ended_before(session, plan, [row.domain_id for row in page])
        for row in page:
            reason = why_left_out(row, plan, settings, ended.get(row.domain_id))
            if reason is None:
                yield row
            else:
                left_out[reason] += 1


def _candidates(
    session: Session, plan: RunPlan, settings: Settings, rows: Iterable[ConfigurationRow]
) -> Iterator[ConfigurationCandidate]:
    for page in batched(rows, PAGE):
        best = best_harvests(session, [row.configuration_id for row in page])
        for row in page:
            limits = both(_NO_LIMITS, BudgetLimits(row.max_objects, row.max_bytes))
            expectation = expected(best.get(row.configuration_id), limits, plan.limits, settings.generation)
            yield ConfigurationCandidate(
                row.configuration_id,
                row.domain_id,
                row.domain_name,
                row.configuration_name,
                row.template,
                json.dumps(row.attributes, sort_keys=True) if row.attributes else "",
                limits,
                expectation.objects,
                expectation.why,
            )


def _ended_before(session: Session, plan: RunPlan, domains: Sequence[int]) -> dict[int, PastDomain]:
    """Return how these domains ended in the snapshots that are continued: for each, the newest end."""
    if not plan.continued:
        return {}
    found = session.execute(
        select(
            DomainHistory.domain_id,
            DomainHistory.stop_reason,
            DomainHistory.objects,
            DomainHistory.bytes,
        )
        .where(DomainHistory.harvest_id.in_(plan.continued), DomainHistory.domain_id.in_(domains))
        .order_by(DomainHistory.ended, DomainHistory.id)
    )
    return {domain: PastDomain(StopReason(stop), objects, size) for domain, stop, objects, size in found}


def _rows(session: Session, plan: RunPlan, settings: Settings, domain: str | None) -> Iterator[ConfigurationRow]:
    query = _query(plan, settings).order_by(*_sorting(settings, session.get_bind().dialect.name))
    if domain is not None:
        query = query.where(Domain.name == domain)
    for row in session.execute(query, execution_options={"yield_per": PAGE}):
        yield ConfigurationRow(*row)


def _query(plan: RunPlan, settings: Settings) -> Select[*tuple[Any, ...]]:
    query = select(
        Configuration.id,
        Configuration.name,
        Domain.id,
        Domain.name,
        Template.name,
        Configuration.attributes,
        Configuration.max_objects,
        Configuration.max_bytes,
        alias_in_force(plan.now, settings.harvests.alias_seconds),
    ).join(Template, Template.id == Configuration.template_id)
    if plan.kind == HarvestKind.SNAPSHOT:
        return query.join(Domain, Domain.default_configuration_id == Configuration.id)
    return (
        query.join(Domain, Domain.id == Configuration.domain_id)
        .join(HARVEST_CONFIGURATIONS, HARVEST_CONFIGURATIONS.c.configuration_id == Configuration.id)
        .where(HARVEST_CONFIGURATIONS.c.harvest_id == plan.harvest_id)
    )


def _sorting(settings: Settings, dialect: str) -> tuple[ColumnElement[Any], ...]:
    """Return the order of `splitting.order`, without the expectation, which the database does not know.

    Texts are sorted by their bytes, so that both kinds of database give the same jobs.
    """
    collation = "C" if dialect == "postgresql" else "BINARY"
    attributes = cast(Configuration.attributes, Text)
    limit = Configuration.max_objects if settings.generation.split_by_object_limit else Configuration.max_bytes
    return (
        collate(Template.name, collation),
        collate(case((attributes == _NO_ATTRIBUTES, ""), else_=attributes), collation),
        case((limit < 0, 0), else_=1).asc(),
        limit.desc(),
        collate(Domain.name, collation),
        collate(Configuration.name, collation),
    )


def _harvest_limits(plan: RunPlan) -> tuple[int, int]:
    return plan.limits.objects, plan.limits.bytes
