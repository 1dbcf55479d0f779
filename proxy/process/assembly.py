"""What one recording process is made of: built here once, closed here in the order that loses nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

from archive.settings import Settings
from dedupdb.captures import Captures
from dedupdb.claims import Claims
from dedupdb.foreign import Foreign
from dedupdb.quotas import Quotas
from dedupdb.recall import Recall
from dedupdb.turns import Turns
from proxy.admission import Admission
from proxy.conditional import Conditions
from proxy.egress import Routes
from proxy.extensions import Extensions, extensions_of
from proxy.gate import Gate
from proxy.heads import via_line
from proxy.history import History
from proxy.keep import Keeper
from proxy.memento import Archive
from proxy.onecore import OneCore
from proxy.opener import Opener, resolver_of
from proxy.pacing import Pacing
from proxy.provenance import Provenance
from proxy.recorder import Recorder
from proxy.replayer import Replayer
from proxy.services import Ongoing, Services
from proxy.spool import Spool
from proxy.streampool import StreamPool
from proxy.upstream import Pool
from proxy.vouched import Vouched


@dataclass(frozen=True, slots=True)
class Parts:
    """The working parts of a process, none of which knows of listeners or signals."""

    gate: Gate
    claims: Claims
    recall: Recall
    foreign: Foreign
    keeper: Keeper
    recorder: Recorder
    captures: Captures
    replayer: Replayer
    opener: Opener
    services: Services
    conditions: Conditions
    extensions: Extensions | None
    """Users' addons; None when there are none."""
    core: OneCore

    @classmethod
    def assemble(cls, settings: Settings, index: int, redis_url: str, loop: asyncio.AbstractEventLoop) -> Self:
        """The parts of the `index`-th process. Raises SettingsError for files that can't be used."""
        seconds = settings.redis.timeout_seconds
        extensions = extensions_of(settings)
        opener = Opener(settings.proxy, resolver_of(settings.proxy))
        gate = Gate(settings.proxy, Vouched(settings.home / "run" / "vouched"))
        claims = Claims(redis_url, claim_seconds=settings.dedup.claim_seconds, timeout_seconds=seconds)
        captures = Captures(settings.database_url)
        recall = Recall(claims, captures, settings.dedup)
        foreign, core = Foreign(recall, settings.dedup), OneCore(wanted=settings.proxy.one_core)
        dedup = foreign if foreign.asks else recall
        keeper = Keeper(_for_keeping(settings), dedup, process=str(index), apart=core.apart)
        active: set[Ongoing] = set()
        recorder = Recorder(settings, keeper, loop, lambda: len(active))
        recorder.after_keep = extensions.kept if extensions is not None else None
        quotas = Quotas(redis_url, hold_seconds=settings.proxy.total_seconds, timeout_seconds=seconds)
        longest = settings.proxy.host_delay_wait_seconds
        turns = Turns(redis_url, longest_seconds=longest, timeout_seconds=seconds)
        services = Services(
            settings=settings.proxy,
            loop=loop,
            gate=gate,
            pool=(StreamPool if settings.proxy.http2_origins else Pool)(settings.proxy, opener),
            recorder=recorder,
            provenance=Provenance(recorder),
            routes=Routes(settings.proxy.egress),
            spool_folder=settings.home / "spool",
            digest=settings.archive.digest,
            active=active,
            orphans=set(),
            tasks=set(),
            admission=Admission(quotas, loop, patience_seconds=settings.proxy.limit_seconds),
            pacing=Pacing(settings.proxy.host_delay, turns, loop, longest_seconds=longest),
            via=via_line(settings.proxy.via),
        )
        replayer, conditions = _looking_back(settings, Archive(settings, captures), services)
        return cls(
            *(gate, claims, recall, foreign, keeper, recorder, captures),
            *(replayer, opener, services, conditions, extensions, core),
        )

    def close(self) -> None:
        """Let go of everything; the recorder has stopped before."""
        if self.extensions is not None:
            self.extensions.stop()
        self.services.pool.close_idle(float("inf"))
        self.replayer.stop()
        self.conditions.stop()
        self.services.admission.stop()
        self.services.pacing.stop()
        self.foreign.close()
        self.claims.close()
        self.captures.close()


def _looking_back(settings: Settings, archive: Archive, services: Services) -> tuple[Replayer, Conditions]:
    """What answers from the archive, and what asks origins whether it still holds."""

    def spool() -> Spool:
        return Spool(settings.proxy.spool_bytes, services.spool_folder, settings.archive.digest)

    patience = settings.storage.answer_seconds if settings.storage.url else None
    replayer = Replayer(archive, services.gate, services.loop, answer_seconds=patience)
    return replayer, Conditions(History(archive, spool, settings.dedup), services)


def _for_keeping(settings: Settings) -> Settings:
    """With `deliver = "written"`, files are written and left to the operating system to bring to the disk."""
    if settings.proxy.deliver != "written":
        return settings
    return settings.model_copy(update={"archive": settings.archive.model_copy(update={"fsync": False})})
