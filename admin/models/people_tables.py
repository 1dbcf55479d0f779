"""These tables hold users, their sessions and tokens, the audit, and notifications."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import BigInteger, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from admin.models.base import Base, Document, Edition, Key, Moment, Name, Number, Words, chosen


class Role(StrEnum):
    """A role is a set of rights; `admin.people.rights` has the table of rights."""

    ADMINISTRATOR = "administrator"
    CURATOR = "curator"
    OPERATOR = "operator"
    READER = "reader"


class User(Base):
    """A user is a person who logs in."""

    __tablename__ = "users"
    __table_args__ = (UniqueConstraint("oidc_issuer", "oidc_subject"),)

    id: Mapped[Key]
    name: Mapped[Name] = mapped_column(unique=True)
    full_name: Mapped[Words]
    email: Mapped[Words]
    role: Mapped[Role] = mapped_column(chosen(Role))
    password_hash: Mapped[str | None] = mapped_column(Text)
    """By argon2; None for a user who logs in by OpenID Connect alone."""
    oidc_issuer: Mapped[str | None] = mapped_column(Text)
    oidc_subject: Mapped[str | None] = mapped_column(Text)
    is_active: Mapped[bool] = mapped_column(default=True)
    zone: Mapped[Name] = mapped_column(default="UTC")
    """The time zone in which the site shows dates to this user."""
    created: Mapped[Moment]
    last_login: Mapped[Moment | None]
    edition: Mapped[Edition]

    subscriptions: Mapped[list[Subscription]] = relationship(cascade="all, delete-orphan")


class WebSession(Base):
    """A browser that has logged in has a session; `id_hash` is the SHA-256 of the cookie's value."""

    __tablename__ = "web_sessions"

    id_hash: Mapped[str] = mapped_column(Text, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created: Mapped[Moment]
    seen: Mapped[Moment]
    expires: Mapped[Moment]
    address: Mapped[Words]
    browser: Mapped[Words]
    """The User-Agent header of the login, so that a person knows the session in a list."""

    user: Mapped[User] = relationship()


class LoginAttempts(Base):
    """The row counts the login attempts of one account or from one address until `until`; then it counts anew."""

    __tablename__ = "login_attempts"

    key: Mapped[str] = mapped_column(Text, primary_key=True)
    attempts: Mapped[Number]
    until: Mapped[Moment] = mapped_column(index=True)


class ApiToken(Base):
    """A token lets a program use the API as a user, with at most the role `role`."""

    __tablename__ = "api_tokens"

    id: Mapped[Key]
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[Name]
    role: Mapped[Role] = mapped_column(chosen(Role))
    created: Mapped[Moment]
    expires: Mapped[Moment | None]
    used: Mapped[Moment | None]

    user: Mapped[User] = relationship()


class Invitation(Base):
    """An invitation lets one person, once, make a user with this role; the first start prints one as a link.

    With a `user_id`, the invitation lets that user, once, set a new password.
    """

    __tablename__ = "invitations"

    id: Mapped[Key]
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    role: Mapped[Role] = mapped_column(chosen(Role))
    created: Mapped[Moment]
    created_by: Mapped[Name]
    expires: Mapped[Moment]
    used: Mapped[Moment | None]


class AuditEntry(Base):
    """An entry is one change that a person, a program or the scheduler made."""

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index("ix_audit_entries_at", "at", "id"),
        Index("ix_audit_entries_entity", "entity", "entity_id", "at", "id"),
        Index("ix_audit_entries_actor", "actor", "at", "id"),
        Index("ix_audit_entries_action", "action", "at", "id"),
        Index("ix_audit_entries_actor_action", "actor", "action", "at", "id"),
    )

    id: Mapped[Key]
    at: Mapped[Moment]
    actor: Mapped[Name]
    door: Mapped[Name]
    """By which the change came: web, api, command, scheduler or harvester."""
    address: Mapped[Words]
    action: Mapped[Name]
    """The use case, such as domain.change."""
    entity: Mapped[Name]
    entity_id: Mapped[str] = mapped_column(Text)
    entity_name: Mapped[Words]
    old: Mapped[Document | None]
    """The values before, of those that changed; None when the entity is new."""
    new: Mapped[Document | None]


class SchedulerLease(Base):
    """A lease belongs to one process at a time, for work such as scheduling; `until` is by the database's clock."""

    __tablename__ = "leases"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    owner: Mapped[Words]
    until: Mapped[int] = mapped_column(BigInteger)
    fence: Mapped[Number] = mapped_column(default=0)
    """Grows with each new owner. What an owner writes is refused when another has taken the lease since."""


class Subscription(Base):
    """A user wants to hear of an event; of one harvest, or of all."""

    __tablename__ = "subscriptions"
    __table_args__ = (Index("ix_subscriptions_event_harvest", "event", "harvest_id"),)

    id: Mapped[Key]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    event: Mapped[Name]
    harvest_id: Mapped[int | None] = mapped_column(ForeignKey("harvests.id", ondelete="CASCADE"))
    way: Mapped[Name]
    """email or webhook."""
    target: Mapped[Words]
    """The webhook's URL; empty for the user's e-mail address."""
    is_digest: Mapped[bool] = mapped_column(default=False)


class Notification(Base):
    """A notification is a message to a person or a program; it waits to be sent, or was sent."""

    __tablename__ = "notifications"
    __table_args__ = (
        Index("ix_notifications_due", "due", "id"),
        Index("ix_notifications_lane_due", "lane", "due", "id"),
        Index("ix_notifications_user_created", "user_id", "created"),
        Index("ix_notifications_digest", "digest"),
    )

    id: Mapped[Key]
    message_id: Mapped[str] = mapped_column(Text, unique=True)
    """Stays the same when the message is sent again, so that the receiver knows the message."""
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    event: Mapped[Name]
    way: Mapped[Name]
    target: Mapped[str] = mapped_column(Text)
    lane: Mapped[str] = mapped_column(Text)
    """Messages of one lane need the same server, so that they fail together: the mail server, or a webhook's host."""
    subject: Mapped[Words]
    body: Mapped[Document]
    created: Mapped[Moment]
    due: Mapped[Moment | None]
    """When the message is to be sent, or sent again; None after it was sent or given up."""
    claim: Mapped[str | None] = mapped_column(Text)
    """The sender that has this token, and no other, may say what became of the message. `due` is the claim's end."""
    attempts: Mapped[Number] = mapped_column(default=0)
    sent: Mapped[Moment | None]
    given_up: Mapped[Moment | None]
    error: Mapped[Words]
    digest: Mapped[str | None] = mapped_column(Text)
    """Messages with the same digest key are sent together."""


class InstallationValue(Base):
    """The row is a value of the installation as a whole, such as the key by which webhooks are signed."""

    __tablename__ = "installation_values"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[Words]
