"""The section `[curation]` says how descriptions, permissions and licences bind readers and harvests."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from archive.access_rules import AccessPolicy
from archive.settings.values.base import Section

type PermissionRule = Literal["ignored", "unless-refused", "only-granted"]


class CurationSettings(Section):
    """These settings control the work of curators."""

    readers_see: Literal["everything", "approved"] = Field(
        "everything",
        description="collections that the viewer, replay, the CDX server and packages show: everything that was not"
        " rejected, or approved collections alone",
    )
    licences_bind_readers: bool = Field(
        False, description="the content of sites whose licence was refused or has expired is answered with 451"
    )
    harvest_permission: PermissionRule = Field(
        "unless-refused",
        description="sites that harvests leave out, unless a harvest says otherwise; ignored: none; unless-refused:"
        " those whose permission was refused, withdrawn or has expired; only-granted: all without one in force",
    )
    licence_warning_days: int = Field(
        60, ge=0, le=3650, description="a licence that ends within this time is in the in-tray of curators"
    )
    fallen_share: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="a domain is in the in-tray when its last job fetched less than this share of the bytes of the job"
        " before",
    )
    tray_days: int = Field(
        30, ge=1, le=3650, description="jobs and statistics of this time are looked at for the in-tray"
    )
    calendar_objects: int = Field(
        1_000_000, ge=1, description="a day with more expected objects is named as a conflict in the calendar"
    )
    calendar_bytes: int = Field(
        100_000_000_000, ge=1, description="a day with more expected bytes is named as a conflict in the calendar"
    )

    def access_policy(self) -> AccessPolicy:
        """Return which rules of curation bind readers."""
        return AccessPolicy(self.readers_see == "approved", self.licences_bind_readers)
