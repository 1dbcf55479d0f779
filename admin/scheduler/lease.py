"""A lease belongs to one process at a time; the database's clock says until when.

Each new owner gets a larger fencing number. What an owner writes is refused once another has taken the lease, even when
the former owner was only slow and believes that it still has the lease.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from dataclasses import dataclass
from typing import Final

from sqlalchemy import BigInteger, ColumnElement, cast, func, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from admin.harvests.generation.run import FenceLost
from admin.models.database import Database
from admin.models.people_tables import SchedulerLease
from admin.models.transaction import SCHEDULER, Transaction

_MICROS: Final = 1_000_000
_DAY_OF_1970: Final = 2_440_587.5
"""The Julian day on which Unix time begins."""
_MICROS_OF_DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing says who has the lease."""

    owner: str
    fence: int
    is_ours: bool
    is_new: bool = False
    """The lease became ours just now."""


class ProcessLease:
    """A process lease has one name and one owner. Safe to share between threads."""

    def __init__(self, database: Database, name: str, seconds: float, owner: str | None = None) -> None:
        """Take nothing yet. `owner` is told to others who want the lease; it is unique to this object."""
        self._database, self._name, self._micros = database, name, int(seconds * _MICROS)
        self.owner = owner or f"{socket.gethostname()}, process {os.getpid()}, {secrets.token_hex(4)}"
        self._seen: tuple[int, int] | None = None
        self._seen_at = 0.0

    def hold(self) -> Standing:
        """Take the lease when it is free, renew it when it is ours, and return who has it. Raises DatabaseRefused.

        A lease is free when its time is over by the database's clock, or when its owner has not renewed it for its
        whole time by our own: the second rule helps when the database's clock was set back.
        """
        with self._database.transaction(SCHEDULER) as transaction:
            session, now = transaction.session, _database_now(transaction)
            insert = postgresql_insert if _is_postgresql(transaction) else sqlite_insert
            session.execute(
                insert(SchedulerLease).values(name=self._name, owner="", until=0, fence=0).on_conflict_do_nothing()
            )
            row, clock = session.execute(
                select(SchedulerLease, now).where(SchedulerLease.name == self._name).with_for_update()
            ).one()
            if row.owner == self.owner:
                row.until = clock + self._micros
                return Standing(self.owner, row.fence, is_ours=True)
            if row.until >= clock and not self._is_silent(row):
                return Standing(row.owner, row.fence, is_ours=False)
            row.owner, row.until, row.fence = self.owner, clock + self._micros, row.fence + 1
            return Standing(self.owner, row.fence, is_ours=True, is_new=True)

    def renew(self) -> bool:
        """Renew the lease when it is ours, and return whether it is. Raises DatabaseRefused."""
        with self._database.transaction(SCHEDULER) as transaction:
            now = _database_now(transaction)
            query = (
                select(SchedulerLease, now)
                .where(SchedulerLease.name == self._name, SchedulerLease.owner == self.owner)
                .with_for_update()
            )
            if (found := transaction.session.execute(query).one_or_none()) is None:
                return False
            row, clock = found
            row.until = clock + self._micros
            return True

    def release(self) -> None:
        """Give the lease back when it is ours, so that nobody has to wait for its end."""
        with self._database.transaction(SCHEDULER) as transaction:
            query = (
                select(SchedulerLease)
                .where(SchedulerLease.name == self._name, SchedulerLease.owner == self.owner)
                .with_for_update()
            )
            if (row := transaction.session.scalar(query)) is not None:
                row.owner, row.until = "", 0

    def check(self, transaction: Transaction, fence: int) -> None:
        """Raise FenceLost unless the lease has this fencing number; it keeps it until the transaction ends."""
        query = select(SchedulerLease.fence).where(SchedulerLease.name == self._name).with_for_update(read=True)
        if (present := transaction.session.scalar(query)) != fence:
            raise FenceLost(f"the lease {self._name} has fencing number {present}, ours was {fence}")

    def _is_silent(self, row: SchedulerLease) -> bool:
        seen = (row.fence, row.until)
        if seen != self._seen:
            self._seen, self._seen_at = seen, time.monotonic()
            return False
        return (time.monotonic() - self._seen_at) * _MICROS > self._micros


@dataclass(frozen=True, slots=True)
class LeaseFence:
    """The fence lets writes pass as long as the lease has the fencing number with which the work began."""

    lease: ProcessLease
    number: int

    def check(self, transaction: Transaction) -> None:
        """Raise FenceLost when another owner has the lease."""
        self.lease.check(transaction, self.number)


def _is_postgresql(transaction: Transaction) -> bool:
    return transaction.session.get_bind().dialect.name == "postgresql"


def _database_now(transaction: Transaction) -> ColumnElement[int]:
    """Return the database's time in microseconds, as an expression."""
    if _is_postgresql(transaction):
        return cast(func.extract("epoch", func.clock_timestamp()) * _MICROS, BigInteger)
    return cast((func.julianday("now") - _DAY_OF_1970) * _MICROS_OF_DAY, BigInteger)
