"""Channels are data: any number of them, each for selective harvests or for snapshots, one of each kind the default."""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy import ColumnElement, and_, func, or_, select, update

from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Channel, Harvest, HarvestKind
from admin.models.job_tables import Harvester, HarvestJob
from admin.models.operation import InputModel, OutputModel
from admin.models.transaction import Right, Transaction

STOCK: Final = (("FOCUSED", False), ("SNAPSHOT", True))
"""The channels of a new installation, as NetarchiveSuite has them: a name, and whether the channel is for snapshots."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class ChannelInput(InputModel):
    """A channel input holds a new channel, or the new values of one."""

    name: str
    comments: str = ""
    takes_snapshots: bool = False
    is_default: bool = False
    edition: int | None = None


class ChannelView(OutputModel):
    """A channel view shows a channel, and how many harvesters listen to it."""

    id: int
    name: str
    comments: str
    takes_snapshots: bool
    is_default: bool
    edition: int
    harvesters: int = 0
    """Harvesters that have registered for the channel."""


def install_stock(transaction: Transaction) -> None:
    """Make the stock channels of an installation that has none."""
    if transaction.session.scalar(select(func.count(Channel.id))):
        return
    for name, takes_snapshots in STOCK:
        channel = Channel(name=name, comments="", takes_snapshots=takes_snapshots, is_default=True)
        transaction.session.add(channel)
        transaction.session.flush()
        transaction.audit("channel.create", "channel", channel.id, name, new={"is_default": True})


def list_channels(transaction: Transaction) -> list[ChannelView]:
    """Return all channels by name."""
    rows = transaction.session.execute(
        select(Channel, func.count(Harvester.name))
        .outerjoin(Harvester, Harvester.channel_id == Channel.id)
        .group_by(Channel.id)
        .order_by(Channel.name)
    )
    return [ChannelView.model_validate(row).model_copy(update={"harvesters": count}) for row, count in rows]


def show_channel(transaction: Transaction, name: str) -> ChannelView:
    """Return one channel. Raises NotFound."""
    transaction.require(Right.READ)
    row = _row(transaction, name)
    count = transaction.session.scalar(select(func.count()).where(Harvester.channel_id == row.id)) or 0
    return ChannelView.model_validate(row).model_copy(update={"harvesters": count})


def create_channel(transaction: Transaction, given: ChannelInput) -> ChannelView:
    """Make a channel. Raises InvalidInput."""
    transaction.require(Right.ADMINISTER)
    _check_name(transaction, given.name, None)
    row = Channel(name=given.name, comments=given.comments, takes_snapshots=given.takes_snapshots)
    transaction.session.add(row)
    transaction.session.flush()
    _set_default(transaction, row, given.is_default)
    transaction.audit("channel.create", "channel", row.id, row.name, new=given.model_dump(exclude={"edition"}))
    return ChannelView.model_validate(row)


def change_channel(transaction: Transaction, name: str, given: ChannelInput) -> ChannelView:
    """Change a channel. Raises NotFound, InvalidInput, EditConflict, IllegalState."""
    transaction.require(Right.ADMINISTER)
    row = _row(transaction, name)
    _check_name(transaction, given.name, row)
    old = {each: getattr(row, each) for each in ("name", "comments", "takes_snapshots", "is_default")}
    if given.takes_snapshots != row.takes_snapshots and (uses := _uses(transaction, row)):
        raise IllegalState(f"channel {name} can't change its kind while {uses}")
    transaction.check_edition("channel", name, row, given.edition)
    row.name, row.comments, row.takes_snapshots = given.name, given.comments, given.takes_snapshots
    _set_default(transaction, row, given.is_default)
    new = given.model_dump(exclude={"edition"})
    transaction.audit(
        "channel.change",
        "channel",
        row.id,
        row.name,
        old={key: value for key, value in old.items() if new[key] != value},
        new={key: value for key, value in new.items() if old[key] != value},
    )
    return ChannelView.model_validate(row)


def delete_channel(transaction: Transaction, name: str) -> None:
    """Delete a channel that nothing uses. Raises NotFound, IllegalState."""
    transaction.require(Right.ADMINISTER)
    row = _row(transaction, name)
    if row.is_default:
        raise IllegalState(f"channel {name} is the default of its kind; make another channel the default first")
    if uses := _uses(transaction, row):
        raise IllegalState(f"channel {name} can't be deleted while {uses}")
    transaction.session.delete(row)
    transaction.audit("channel.delete", "channel", row.id, name, old={"name": name})


def _row(transaction: Transaction, name: str) -> Channel:
    row = transaction.session.scalar(select(Channel).where(Channel.name == name))
    if row is None:
        raise NotFound("channel", name)
    return row


def _check_name(transaction: Transaction, name: str, row: Channel | None) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInput(Problem("name", f"{name[:100]!r} must be 1 to 64 letters, digits, - or _"))
    other = transaction.session.scalar(select(Channel).where(Channel.name == name))
    if other is not None and other is not row:
        raise InvalidInput(Problem("name", f"{name!r} is the name of another channel; choose a new one"))


def _set_default(transaction: Transaction, row: Channel, is_default: bool) -> None:
    if row.is_default and not is_default:
        raise IllegalState(f"channel {row.name} is the default of its kind; make another channel the default instead")
    if is_default:
        transaction.session.execute(
            update(Channel).where(Channel.takes_snapshots == row.takes_snapshots).values(is_default=False)
        )
        row.is_default = True
    transaction.session.flush()


def _uses(transaction: Transaction, row: Channel) -> str:
    """Return what uses the channel, in words; empty for nothing."""
    counts = {
        "harvest": transaction.session.scalar(select(func.count()).where(Harvest.channel_id == row.id)) or 0,
        "job": transaction.session.scalar(select(func.count()).where(HarvestJob.channel_id == row.id)) or 0,
        "harvester": transaction.session.scalar(select(func.count()).where(Harvester.channel_id == row.id)) or 0,
    }
    used = [f"{count} {noun}{'s' if count > 1 else ''}" for noun, count in counts.items() if count]
    return f"{', '.join(used)} use it" if used else ""


def is_of_harvest() -> ColumnElement[bool]:
    """Return the condition that a channel gets the jobs of a harvest: its own channel, else the default of its kind."""
    is_default = and_(
        Harvest.channel_id.is_(None),
        Channel.is_default.is_(True),
        Channel.takes_snapshots == (Harvest.kind == HarvestKind.SNAPSHOT),
    )
    return or_(Channel.id == Harvest.channel_id, is_default)
