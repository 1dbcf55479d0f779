"""The pages of a capture session become the seeds of a harvest."""

from __future__ import annotations

from pydantic import Field

from admin.capture_sessions.sessions import find, page_urls
from admin.harvests.definitions.definition import HarvestCreation, HarvestView, create_harvest, show_harvest
from admin.harvests.definitions.event_seeds import EventSeeds, add_event_seeds
from admin.models.errors import IllegalState
from admin.models.harvest_tables import HarvestKind
from admin.models.operation import InputModel
from admin.models.transaction import Right, Transaction


class HarvestFromSession(InputModel):
    """The input names the harvest that begins with the pages of a capture session."""

    name: str = Field(min_length=1, max_length=255)
    template: str | None = None
    """The template of configurations that are new; left out, that of new domains."""


def make_harvest(transaction: Transaction, session: int, given: HarvestFromSession) -> HarvestView:
    """Make a harvest with the pages of a session as seeds. Raises NotFound, IllegalState and InvalidInput.

    The harvest is not active. Domains and configurations of the pages are made where they are missing.
    """
    transaction.require(Right.CURATE)
    row = find(transaction, session)
    urls = page_urls(transaction, session)
    if not urls:
        raise IllegalState(f"capture session {session} has no page yet; open one in its browser")
    comments = f"Made from capture session {session} of {row.owner}."
    create_harvest(
        transaction,
        HarvestCreation(name=given.name, kind=HarvestKind.SELECTIVE, comments=comments, collection=row.collection),
    )
    add_event_seeds(transaction, given.name, EventSeeds(text="\n".join(urls), template=given.template))
    return show_harvest(transaction, given.name)
