"""These tables hold domains: their configurations, seed lists, owners, aliases, crawler traps and extended fields."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import Column, ForeignKey, Index, LargeBinary, Table, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from admin.models.base import AsciiName, Base, Document, Edition, Key, Limit, Moment, Name, Number, Words, chosen

CONFIGURATION_SEED_LISTS = Table(
    "configuration_seed_lists",
    Base.metadata,
    Column("configuration_id", ForeignKey("configurations.id", ondelete="CASCADE"), primary_key=True),
    Column("seed_list_id", ForeignKey("seed_lists.id", ondelete="CASCADE"), primary_key=True),
    Index("ix_configuration_seed_lists_seed_list_id", "seed_list_id"),
)
CONFIGURATION_PASSWORDS = Table(
    "configuration_passwords",
    Base.metadata,
    Column("configuration_id", ForeignKey("configurations.id", ondelete="CASCADE"), primary_key=True),
    Column("password_id", ForeignKey("domain_passwords.id", ondelete="CASCADE"), primary_key=True),
    Index("ix_configuration_passwords_password_id", "password_id"),
)


def _same_as_name(context: Any) -> Any:
    return context.get_current_parameters()["name"]


class Domain(Base):
    """A domain is a registered name, such as example.org, or an IP address."""

    __tablename__ = "domains"
    __table_args__ = (
        Index("ix_domains_tld_name", "tld", "name"),
        Index("ix_domains_alias_since_id", "alias_since", "id"),
        # With the name, as SQLite would not use an index of a column that is almost always NULL.
        Index("ix_domains_alias_of_name", "alias_of_id", "name"),
    )

    id: Mapped[Key]
    name: Mapped[AsciiName] = mapped_column(unique=True)
    """In ASCII (IDNA), lower case."""
    unicode_name: Mapped[Name] = mapped_column(default=_same_as_name)
    """The name as people write it, such as bücher.example."""
    tld: Mapped[AsciiName]
    """The public suffix, such as org or co.uk; "IP" for an address."""
    comments: Mapped[Words]
    default_configuration_id: Mapped[int | None] = mapped_column(
        ForeignKey("configurations.id", use_alter=True, ondelete="SET NULL"), index=True
    )
    alias_of_id: Mapped[int | None] = mapped_column(ForeignKey("domains.id", ondelete="SET NULL"))
    alias_since: Mapped[Moment | None]
    """When the domain was last said to be an alias; the alias expires after `harvests.alias_seconds`."""
    created: Mapped[Moment]
    edition: Mapped[Edition]

    configurations: Mapped[list[Configuration]] = relationship(
        back_populates="domain",
        foreign_keys="Configuration.domain_id",
        cascade="all, delete-orphan",
        order_by="Configuration.name",
    )
    default_configuration: Mapped[Configuration | None] = relationship(
        foreign_keys=[default_configuration_id], post_update=True
    )
    seed_lists: Mapped[list[SeedList]] = relationship(
        back_populates="domain", cascade="all, delete-orphan", order_by="SeedList.name"
    )
    owners: Mapped[list[DomainOwner]] = relationship(
        back_populates="domain", cascade="all, delete-orphan", order_by="DomainOwner.created"
    )
    passwords: Mapped[list[DomainPassword]] = relationship(
        back_populates="domain", cascade="all, delete-orphan", order_by="DomainPassword.name"
    )
    alias_of: Mapped[Domain | None] = relationship(remote_side="Domain.id", foreign_keys=[alias_of_id])


class SeedList(Base):
    """A seed list has URLs, one on each line. Blank lines and lines that begin with # are no seeds."""

    __tablename__ = "seed_lists"
    __table_args__ = (UniqueConstraint("domain_id", "name"),)

    id: Mapped[Key]
    domain_id: Mapped[int] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    name: Mapped[Name]
    seeds: Mapped[str] = mapped_column(Text)
    comments: Mapped[Words]
    edition: Mapped[Edition]

    domain: Mapped[Domain] = relationship(back_populates="seed_lists")


class Configuration(Base):
    """A configuration says how a domain is harvested: by which template, from which seed lists, up to which limits."""

    __tablename__ = "configurations"
    __table_args__ = (UniqueConstraint("domain_id", "name"),)

    id: Mapped[Key]
    domain_id: Mapped[int] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    name: Mapped[Name]
    comments: Mapped[Words]
    template_id: Mapped[int] = mapped_column(ForeignKey("templates.id"), index=True)
    max_objects: Mapped[Limit]
    max_bytes: Mapped[Limit]
    max_rate: Mapped[Number] = mapped_column(default=100)
    """Visits in a minute to each host of the domain. A lower rate than the template's politeness allows holds."""
    attributes: Mapped[Document] = mapped_column(default=dict)
    """Keys of the crawl profile that this configuration sets otherwise than the template, such as {"hops": 3}."""
    edition: Mapped[Edition]

    domain: Mapped[Domain] = relationship(back_populates="configurations", foreign_keys=[domain_id])
    seed_lists: Mapped[list[SeedList]] = relationship(secondary=CONFIGURATION_SEED_LISTS, order_by="SeedList.name")
    passwords: Mapped[list[DomainPassword]] = relationship(secondary=CONFIGURATION_PASSWORDS)


class DomainOwner(Base):
    """An owner is whoever is responsible for a domain; the newest entry counts, the others are history."""

    __tablename__ = "domain_owners"

    id: Mapped[Key]
    domain_id: Mapped[int] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"), index=True)
    created: Mapped[Moment]
    owner: Mapped[Words]
    contact: Mapped[Words]

    domain: Mapped[Domain] = relationship(back_populates="owners")


class DomainPassword(Base):
    """A password lets a harvest into a part of a domain that asks for one, by HTTP authentication or in a form."""

    __tablename__ = "domain_passwords"
    __table_args__ = (UniqueConstraint("domain_id", "name"),)

    id: Mapped[Key]
    domain_id: Mapped[int] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    name: Mapped[Name]
    url: Mapped[str] = mapped_column(Text)
    realm: Mapped[Words]
    username: Mapped[Words]
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    """Encrypted with the key of this installation."""

    domain: Mapped[Domain] = relationship(back_populates="passwords")


class CrawlerTrapList(Base):
    """A list of crawler traps counts for every harvest while the list is active."""

    __tablename__ = "crawler_trap_lists"

    id: Mapped[Key]
    name: Mapped[Name] = mapped_column(unique=True)
    description: Mapped[Words]
    is_active: Mapped[bool] = mapped_column(default=True)
    edition: Mapped[Edition]

    traps: Mapped[list[CrawlerTrap]] = relationship(
        cascade="all, delete-orphan", order_by="CrawlerTrap.position", foreign_keys="CrawlerTrap.list_id"
    )


class CrawlerTrap(Base):
    """A crawler trap is a regular expression; URLs in which it is found are not fetched.

    Exactly one of `list_id`, `domain_id` and `harvest_id` says to what the trap belongs.
    """

    __tablename__ = "crawler_traps"

    id: Mapped[Key]
    list_id: Mapped[int | None] = mapped_column(ForeignKey("crawler_trap_lists.id", ondelete="CASCADE"), index=True)
    domain_id: Mapped[int | None] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"), index=True)
    harvest_id: Mapped[int | None] = mapped_column(ForeignKey("harvests.id", ondelete="CASCADE"), index=True)
    position: Mapped[Number]
    expression: Mapped[str] = mapped_column(Text)
    is_active: Mapped[bool] = mapped_column(default=True)


class FieldKind(StrEnum):
    """The kinds of values that an extended field may have."""

    TEXT = "text"
    NUMBER = "number"
    YES_NO = "yes-no"
    DATE = "date"
    NOTE = "note"
    CHOICE = "choice"


class ExtendedField(Base):
    """An extended field is one that this installation adds to its domains or to its harvests."""

    __tablename__ = "extended_fields"
    __table_args__ = (UniqueConstraint("entity", "name"),)

    id: Mapped[Key]
    entity: Mapped[Name]
    """"domain" or "harvest"."""
    name: Mapped[Name]
    kind: Mapped[FieldKind] = mapped_column(chosen(FieldKind))
    choices: Mapped[Document] = mapped_column(default=list)
    default: Mapped[Words]
    is_mandatory: Mapped[bool] = mapped_column(default=False)
    is_kept_with_jobs: Mapped[bool] = mapped_column(default=False)
    """A job keeps the value that the field had when the job was made."""
    position: Mapped[Number] = mapped_column(default=0)
    edition: Mapped[Edition]


class ExtendedValue(Base):
    """The row holds the value of an extended field for one domain or one harvest, whose number is `entity_id`."""

    __tablename__ = "extended_values"
    __table_args__ = (UniqueConstraint("field_id", "entity_id"), Index("ix_extended_values_entity", "entity_id"))

    id: Mapped[Key]
    field_id: Mapped[int] = mapped_column(ForeignKey("extended_fields.id", ondelete="CASCADE"))
    entity_id: Mapped[Number]
    value: Mapped[Words]
