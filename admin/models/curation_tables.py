"""These tables hold what curators write of collections, captures, sites and domains, and marks of in-trays."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import ForeignKey, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from admin.models.base import Base, Document, Edition, Key, Moment, Name, Words, chosen


class CurationState(StrEnum):
    """A collection or a capture is in one of these states; `admin.curation.descriptions.states` has the transitions."""

    DRAFT = "draft"
    IN_REVIEW = "in-review"
    ENDORSED = "endorsed"
    """A curator has looked at the captures and found them good; a second look may follow."""
    APPROVED = "approved"
    REJECTED = "rejected"


class CurationDescription(Base):
    """The row describes a collection, or a single capture of it: its state, its Dublin Core fields and its tags."""

    __tablename__ = "curation_descriptions"
    __table_args__ = (UniqueConstraint("collection", "url_sha256", "date"),)

    id: Mapped[Key]
    collection: Mapped[Name]
    url: Mapped[str] = mapped_column(Text)
    """The URL of the capture; empty for the collection itself."""
    url_sha256: Mapped[Name]
    """The digest of the URL's key, since no index holds the longest URLs."""
    date: Mapped[Moment]
    """The second of the capture; 0 for the collection itself."""
    state: Mapped[CurationState] = mapped_column(chosen(CurationState), default=CurationState.DRAFT, index=True)
    reason: Mapped[Words]
    """The reason for the state."""
    embargo_until: Mapped[Moment | None]
    """Readers see nothing before this moment."""
    dublin_core: Mapped[Document] = mapped_column(default=dict)
    """Lists of texts by the name of the field, such as {"title": ["News"]}."""
    tags: Mapped[Document] = mapped_column(default=list)
    changed: Mapped[Moment]
    changed_by: Mapped[Name]
    edition: Mapped[Edition]


class CurationExclusion(Base):
    """An exclusion hides the captures of all URLs of a collection that begin so from readers."""

    __tablename__ = "curation_exclusions"
    __table_args__ = (UniqueConstraint("collection", "key_sha256"),)

    id: Mapped[Key]
    collection: Mapped[Name]
    url: Mapped[str] = mapped_column(Text)
    key_sha256: Mapped[Name]
    reason: Mapped[Words]
    created: Mapped[Moment]
    created_by: Mapped[Name]


class PermissionState(StrEnum):
    """The permission of a site is in one of these states."""

    ASKED = "asked"
    GRANTED = "granted"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


class SitePermission(Base):
    """A permission says whether the owner of a site allows its harvest and its publication, and under which licence."""

    __tablename__ = "site_permissions"

    id: Mapped[Key]
    site: Mapped[str] = mapped_column(Text, unique=True)
    """A domain such as example.org, or the beginning of URLs such as https://example.org/news/."""
    prefix: Mapped[str] = mapped_column(Text)
    """The beginning of the loose keys of the site's URLs, such as org,example."""
    state: Mapped[PermissionState] = mapped_column(chosen(PermissionState), index=True)
    granted_until: Mapped[Moment | None]
    """The moment at which a granted permission ends; None is no end."""
    contact: Mapped[Words]
    email: Mapped[Words]
    licence: Mapped[Words]
    """The name of the licence, such as CC BY 4.0."""
    licence_url: Mapped[Words]
    notes: Mapped[Words]
    asked: Mapped[Moment | None]
    """The moment of the last letter."""
    changed: Mapped[Moment]
    edition: Mapped[Edition]

    events: Mapped[list[PermissionEvent]] = relationship(cascade="all, delete-orphan", order_by="PermissionEvent.id")


class PermissionEvent(Base):
    """An event is one step in the history of a permission: a change of the state, or a letter."""

    __tablename__ = "permission_events"

    id: Mapped[Key]
    permission_id: Mapped[int] = mapped_column(ForeignKey("site_permissions.id", ondelete="CASCADE"), index=True)
    at: Mapped[Moment]
    actor: Mapped[Name]
    what: Mapped[Name]
    """A state, or letter-written or letter-sent."""
    note: Mapped[Words]
    """A note of a person, or the text of the letter."""


class LetterTemplate(Base):
    """A letter template has fields in braces, such as {site}, which a letter gets filled in."""

    __tablename__ = "letter_templates"

    id: Mapped[Key]
    name: Mapped[Name] = mapped_column(unique=True)
    subject: Mapped[Words]
    body: Mapped[Words]
    edition: Mapped[Edition]


class TrayAssignment(Base):
    """An entry of the in-tray was given to one person, or to everybody with a role."""

    __tablename__ = "tray_assignments"

    entry: Mapped[str] = mapped_column(Text, primary_key=True)
    """The key of the entry, such as permission-ends:example.org."""
    person: Mapped[Words]
    role: Mapped[Words]


class TrayMark(Base):
    """A person has dismissed an entry of the in-tray, or put it off."""

    __tablename__ = "tray_marks"
    __table_args__ = (UniqueConstraint("person", "entry"),)

    id: Mapped[Key]
    person: Mapped[Name]
    entry: Mapped[str] = mapped_column(Text)
    until: Mapped[Moment | None]
    """The entry comes back at this moment; None is never."""


class DomainTag(Base):
    """A domain has a tag, by which curators choose domains."""

    __tablename__ = "domain_tags"
    __table_args__ = (UniqueConstraint("domain_id", "tag"),)

    id: Mapped[Key]
    domain_id: Mapped[int] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    tag: Mapped[Name] = mapped_column(index=True)
