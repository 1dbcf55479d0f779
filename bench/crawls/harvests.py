"""This bench fills a database with domains and generates the jobs of a snapshot harvest, twice.

The generation runs in a process of its own, so that its memory is told apart from that of filling the database.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import func, insert, select, update

from admin.harvests.generation.content_hash import run_hash
from admin.harvests.generation.run import Generator
from admin.harvests.templates.stock import install_stock
from admin.models.database import Database
from admin.models.domain_tables import CONFIGURATION_SEED_LISTS, Configuration, Domain, SeedList
from admin.models.errors import UseCaseError
from admin.models.harvest_tables import Channel, Harvest, HarvestKind, HarvestRun, Template
from admin.models.job_tables import DomainHistory, HarvestJob, JobStatus, StopReason
from admin.models.transaction import COMMAND_LINE, Transaction
from archive.settings.load import Settings

CHUNK: Final = 10_000
NOW: Final = 1_800_000_000_000_000
_SAMPLE_SECONDS: Final = 0.05
_BYTE_LIMITS: Final = (1_000_000_000, 1_000_000_000, 1_000_000_000, 50_000_000, -1)
_REASONS: Final = (StopReason.COMPLETE, StopReason.SIZE_LIMIT, StopReason.COMPLETE, StopReason.UNFINISHED)


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """The result of one generated run is compared with others."""

    configurations: int
    jobs: int
    seconds: float
    early_peak_mb: float
    """The largest memory in the first fifth of the time."""
    peak_mb: float
    content_hash: str

    @property
    def per_second(self) -> float:
        """Return how many configurations were put into jobs in a second."""
        return self.configurations / self.seconds


class _NoFence:
    def check(self, transaction: Transaction) -> None:
        """Do nothing, as there is no other scheduler."""


def fill(url: str, configurations: int, tell: Callable[[str], None]) -> None:
    """Put domains into an empty database: each with a configuration and a seed, half of them with a history."""
    database = Database(url, lambda: NOW)
    database.check()
    with database.transaction(COMMAND_LINE) as transaction:
        if transaction.session.scalar(select(Domain.id).limit(1)) is not None:
            raise UseCaseError("the database has domains already; give the bench an empty one")
        install_stock(transaction)
        template_id = transaction.session.scalars(select(Template.id).order_by(Template.id).limit(1)).one()
        channel = Channel(name="bench", comments="", takes_snapshots=True, is_default=True)
        earlier = _snapshot("earlier", runs_made=1)
        transaction.session.add_all([channel, earlier])
        transaction.session.flush()
        ids = (template_id, channel.id, earlier.id)
    begun = time.monotonic()
    for first in range(1, configurations + 1, CHUNK):
        numbers = range(first, min(first + CHUNK, configurations + 1))
        with database.transaction(COMMAND_LINE) as transaction:
            _add_domains(transaction, numbers, *ids)
    if database.engine.dialect.name == "postgresql":
        with database.transaction(COMMAND_LINE) as transaction:
            for table in ("domains", "configurations", "seed_lists", "jobs"):
                column = func.pg_get_serial_sequence(table, "id")
                transaction.session.execute(select(func.setval(column, configurations + CHUNK)))
    tell(f"{configurations:,} domains in {time.monotonic() - begun:.0f} s")
    database.close()


def measured(url: str, name: str) -> GenerationResult:
    """Make a snapshot harvest of this name, and generate its run in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_generate, args=(url, name, sending))
    process.start()
    sending.close()
    try:
        result: GenerationResult = receiving.recv()
    except EOFError:
        raise UseCaseError("the generation failed; its error stands above") from None
    finally:
        process.join()
    return result


def _generate(url: str, name: str, sending: Any) -> None:
    database = Database(url, lambda: NOW)
    with database.transaction(COMMAND_LINE) as transaction:
        row = _snapshot(name)
        transaction.session.add(row)
        transaction.session.flush()
        harvest_id = row.id
    samples: list[tuple[float, float]] = []
    ended = threading.Event()
    begun = time.monotonic()

    def sample() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            samples.append((time.monotonic() - begun, _peak_mb()))

    sampler = threading.Thread(target=sample)
    sampler.start()
    run = Generator(database, Settings(), _NoFence()).generate(harvest_id)
    seconds = time.monotonic() - begun
    ended.set()
    sampler.join()
    with database.reading(COMMAND_LINE) as reading:
        if run is None:
            reason = reading.session.get_one(Harvest, harvest_id).why_inactive
            raise UseCaseError(f"the harvest was deactivated: {reason}")
        kept = reading.session.scalars(select(HarvestRun).where(HarvestRun.harvest_id == harvest_id)).one()
        peak, content = _peak_mb(), run_hash(reading.session, harvest_id, kept.number)
        early = max((memory for at, memory in samples if at <= seconds / 5), default=peak)
        sending.send(GenerationResult(kept.configurations, kept.jobs, seconds, early, peak, content))
    database.close()


def _peak_mb() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1e6 if sys.platform == "darwin" else used * 1024 / 1e6


def _snapshot(name: str, **values: Any) -> Harvest:
    return Harvest(
        name=name,
        kind=HarvestKind.SNAPSHOT,
        comments="",
        audience="",
        why_inactive="",
        collection="bench",
        is_active=True,
        max_bytes=1_000_000_000,
        created=NOW,
        created_by="bench",
        **values,
    )


def _add_domains(
    transaction: Transaction, numbers: Sequence[int], template_id: int, channel_id: int, harvest_id: int
) -> None:
    session = transaction.session
    names = {number: f"d{number * 7_919 % 10_000_019:08}-{number}.example" for number in numbers}
    session.execute(
        insert(Domain),
        [
            {"id": n, "name": name, "unicode_name": name, "tld": "example", "comments": "", "created": NOW}
            for n, name in names.items()
        ],
    )
    session.execute(
        insert(Configuration),
        [
            {
                "id": n,
                "domain_id": n,
                "name": "defaultconfig",
                "comments": "",
                "template_id": template_id,
                "max_bytes": _BYTE_LIMITS[n % len(_BYTE_LIMITS)],
                "attributes": {"hops": 3} if n % 10 == 0 else {},
            }
            for n in numbers
        ],
    )
    session.execute(
        insert(SeedList),
        [
            {"id": n, "domain_id": n, "name": "defaultseeds", "comments": "", "seeds": f"http://www.{name}"}
            for n, name in names.items()
        ],
    )
    session.execute(insert(CONFIGURATION_SEED_LISTS), [{"configuration_id": n, "seed_list_id": n} for n in numbers])
    first, last = numbers[0], numbers[-1]
    session.execute(update(Domain).where(Domain.id.between(first, last)).values(default_configuration_id=Domain.id))
    job = HarvestJob(
        harvest_id=harvest_id,
        run_number=0,
        channel_id=channel_id,
        collection="bench",
        status=JobStatus.DONE,
        template_name="default",
        template_version=1,
        profile={},
        seeds="",
        created=NOW,
    )
    session.add(job)
    session.flush()
    session.execute(insert(DomainHistory), list(_history(numbers, job.id, harvest_id)))


def _history(numbers: Sequence[int], job_id: int, harvest_id: int) -> Iterator[dict[str, Any]]:
    for n in numbers:
        if n % 2:
            objects = n * 31 % 20_000
            yield {
                "job_id": job_id,
                "harvest_id": harvest_id,
                "domain_id": n,
                "configuration_id": n,
                "objects": objects,
                "bytes": objects * (10_000 + n % 90_000),
                "stop_reason": _REASONS[n % len(_REASONS)],
                "ended": NOW - n,
            }
