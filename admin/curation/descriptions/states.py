"""A description goes from state to state by these transitions. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from admin.models.curation_tables import CurationState
from admin.models.errors import IllegalState

TRANSITIONS: Final[Mapping[CurationState, frozenset[CurationState]]] = {
    CurationState.DRAFT: frozenset((CurationState.IN_REVIEW, CurationState.REJECTED)),
    CurationState.IN_REVIEW: frozenset(
        (CurationState.DRAFT, CurationState.ENDORSED, CurationState.APPROVED, CurationState.REJECTED)
    ),
    CurationState.ENDORSED: frozenset((CurationState.IN_REVIEW, CurationState.APPROVED, CurationState.REJECTED)),
    CurationState.APPROVED: frozenset((CurationState.IN_REVIEW, CurationState.REJECTED)),
    CurationState.REJECTED: frozenset((CurationState.DRAFT, CurationState.IN_REVIEW)),
}
"""The states that follow each state."""


def check_transition(present: CurationState, wanted: CurationState) -> None:
    """Raise IllegalState unless the wanted state is the present one or may follow it."""
    if wanted is not present and wanted not in TRANSITIONS[present]:
        following = ", ".join(sorted(TRANSITIONS[present]))
        raise IllegalState(f"the state is {present}, which {wanted} can't follow; choose one of {following}")
