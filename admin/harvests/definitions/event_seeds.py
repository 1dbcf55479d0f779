"""An event harvest is a selective harvest whose URLs are pasted or uploaded; domains and configurations are made.

The URLs of a domain go to a seed list and a configuration of the domain that are named after the harvest.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import batched
from typing import Final

from pydantic import Field

from admin.harvests.definitions.checks import find_harvest
from admin.harvests.definitions.chosen import choose
from admin.harvests.domains.upload_lines import lines_of_text
from admin.harvests.domains.uploads import (
    LINES_OF_ONE_TRANSACTION,
    SeedTarget,
    UploadReport,
    UploadTally,
    add_seeds,
    upload_seeds,
)
from admin.models.database import Database
from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.harvest_tables import Harvest, HarvestKind
from admin.models.operation import InputModel, OutputModel
from admin.models.transaction import Actor, Right, Transaction

LONGEST_TEXT: Final = 2_000_000
"""Characters in one request; longer lists are uploaded."""


class EventSeeds(InputModel):
    """The input has URLs, one on each line; their domains and configurations are added where they are new."""

    text: str
    template: str | None = Field(None, description="of configurations that are new; left out, that of new domains")
    max_bytes: int | None = None
    max_objects: int | None = None
    edition: int | None = None


class EventReport(OutputModel):
    """The output says what came of the URLs of an event harvest."""

    upload: UploadReport
    configurations_added: int
    edition: int


def add_event_seeds(transaction: Transaction, name: str, given: EventSeeds) -> EventReport:
    """Add URLs to an event harvest. Raises InvalidInput; lines that can't be used are in the report."""
    transaction.require(Right.CURATE)
    if len(given.text) > LONGEST_TEXT:
        raise InvalidInput(
            Problem(
                "text", f"the list has {len(given.text)} characters; paste at most {LONGEST_TEXT}, or upload a file"
            )
        )
    row = _event(transaction, name)
    transaction.check_edition("harvest", row.name, row, given.edition)
    transaction.session.flush()
    target = target_of(row, given)
    tally = UploadTally()
    added = 0
    for part in batched(lines_of_text([given.text]), LINES_OF_ONE_TRANSACTION):
        numbers = add_seeds(transaction, part, target, tally)
        row = _event(transaction, name)
        added += choose(transaction, row, numbers)
    _audit(transaction, row, tally, added)
    transaction.session.flush()
    return EventReport(upload=tally.report(), configurations_added=added, edition=row.edition)


def upload_event_seeds(
    database: Database, actor: Actor, name: str, chunks: Iterable[bytes] | Iterable[str], given: EventSeeds
) -> EventReport:
    """Add the URLs of a long list, each part in a transaction of its own. `given.text` is not used."""
    added = 0
    with database.transaction(actor) as transaction:
        transaction.require(Right.CURATE)
        row = _event(transaction, name)
        transaction.check_edition("harvest", row.name, row, given.edition)
        target = target_of(row, given)

    def chosen(transaction: Transaction, numbers: list[int]) -> None:
        nonlocal added
        row = _event(transaction, name)
        transaction.check_edition("harvest", row.name, row, None)
        added += choose(transaction, row, numbers)

    report = upload_seeds(database, actor, chunks, target, on_configurations=chosen)
    with database.transaction(actor) as transaction:
        row = _event(transaction, name)
        new = {"seeds_added": report.seeds_added, "configurations_added": added, "invalid": report.invalid}
        transaction.audit("harvest.add-seeds", "harvest", row.id, row.name, new=new)
        return EventReport(upload=report, configurations_added=added, edition=row.edition)


def target_of(harvest: Harvest, given: EventSeeds) -> SeedTarget:
    """Return where the URLs go in each domain. Another template or other limits make another configuration."""
    name = f"event {harvest.id} {harvest.name[:40].strip()}"
    differs = [given.template[:30] if given.template else ""]
    differs += [f"{given.max_bytes} bytes"] if given.max_bytes is not None else []
    differs += [f"{given.max_objects} objects"] if given.max_objects is not None else []
    configuration = " ".join([name, *filter(None, differs)])[:100].strip()
    return SeedTarget(configuration, configuration, given.template, given.max_bytes, given.max_objects)


def _event(transaction: Transaction, name: str) -> Harvest:
    row = find_harvest(transaction, name, lock=True)
    if row.kind != HarvestKind.SELECTIVE:
        raise IllegalState(f"harvest {row.name!r} is a snapshot, which takes all domains; make a selective harvest")
    return row


def _audit(transaction: Transaction, row: Harvest, tally: UploadTally, added: int) -> None:
    new = {"seeds_added": tally.seeds_added, "configurations_added": added, "invalid": tally.invalid}
    transaction.audit("harvest.add-seeds", "harvest", row.id, row.name, new=new)
