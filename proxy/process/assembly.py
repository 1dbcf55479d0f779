"""The parts of one recording process are built here once, and closed here in the order that loses nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

from archive.local_endpoints import Listeners
from archive.settings.load import Settings
from archive.storage.presence import WarcFiles, home_name, is_alone
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import Claims
from dedupdb.claims.existing_originals import ExistingOriginals
from dedupdb.claims.index_fallback import IndexFallback
from dedupdb.fleet.host_turns import HostTurns
from dedupdb.fleet.quotas import Quotas
from proxy.fetch.provenance import Provenance
from proxy.fetch.services import Ongoing, Services
from proxy.origins.egress import Routes
from proxy.origins.malformed_answers import MalformedAnswers
from proxy.origins.opener import Opener, resolver_of
from proxy.origins.own_addresses import OwnPorts
from proxy.origins.upstream import Pool
from proxy.protocol.heads import via_line
from proxy.recording.cpu_affinity import SharedCore
from proxy.recording.keep import Keeper
from proxy.recording.recorder import Recorder
from proxy.recording.spool import Spool
from proxy.replay.conditional import Conditions
from proxy.replay.history import History
from proxy.replay.memento import Archive
from proxy.replay.replayer import Replayer
from proxy.scripting.user_addons import UserAddons, user_addons_of
from proxy.sessions.admission import PATIENCE_SECONDS, Admission
from proxy.sessions.gate import Gate
from proxy.sessions.meta_trust import MetaTrust
from proxy.sessions.pacing import Pacing


@dataclass(frozen=True, slots=True)
class Assembly:
    """The working parts of a process, none of which knows of listeners or signals."""

    gate: Gate
    claims: Claims
    existing: ExistingOriginals
    recall: IndexFallback
    keeper: Keeper
    recorder: Recorder
    captures: Captures
    replayer: Replayer
    opener: Opener
    services: Services
    conditions: Conditions
    user_addons: UserAddons | None
    """Users' addons; None when there are none."""
    core: SharedCore
    listeners: Listeners
    own: OwnPorts
    """Addresses and ports of the fleet, which are never a target."""

    @classmethod
    def assemble(cls, settings: Settings, index: int, redis_url: str, loop: asyncio.AbstractEventLoop) -> Self:
        """Return the parts of the `index`-th process. Raises SettingsError for files that can't be used."""
        seconds = settings.redis.timeout_seconds
        user_addons = user_addons_of(settings)
        listeners = Listeners(settings.home)
        own = OwnPorts(listeners, (redis_url, settings.database.url))
        opener = Opener(settings.proxy, resolver_of(settings.proxy, own))
        gate = Gate(settings.proxy, MetaTrust(settings.home / "run" / "vouched"))
        claims = Claims(redis_url, claim_seconds=settings.dedup.claim_seconds, timeout_seconds=seconds)
        captures = Captures(settings.database_url)
        home = "" if is_alone(settings) else home_name(settings)
        existing = ExistingOriginals(claims, captures, WarcFiles(settings), home)
        recall = IndexFallback(existing, captures, settings.dedup)
        core = SharedCore()
        keeper = Keeper(
            _for_keeping(settings), recall, process=str(index), run_heavy=core.run_unpinned, is_there=existing.is_there
        )
        active: set[Ongoing] = set()
        recorder = Recorder(settings, keeper, loop, lambda: len(active))
        recorder.after_keep = user_addons.kept if user_addons is not None else None
        quotas = Quotas(redis_url, hold_seconds=settings.proxy.total_seconds, timeout_seconds=seconds)
        longest = settings.proxy.host_delay_wait_seconds
        turns = HostTurns(redis_url, longest_seconds=longest, timeout_seconds=seconds)
        services = Services(
            settings=settings.proxy,
            loop=loop,
            gate=gate,
            pool=Pool(settings.proxy, opener),
            recorder=recorder,
            provenance=Provenance(recorder),
            routes=Routes(settings.proxy.egress),
            spool_folder=settings.home / "spool",
            digest=settings.archive.digest,
            active=active,
            orphans=set(),
            tasks=set(),
            admission=Admission(quotas, loop, patience_seconds=PATIENCE_SECONDS),
            pacing=Pacing(settings.proxy.host_delay, turns, loop, longest_seconds=longest),
            malformed=MalformedAnswers(),
            via=via_line(settings.proxy.via),
        )
        replayer, conditions = _looking_back(settings, Archive(settings, captures), services)
        return cls(
            *(gate, claims, existing, recall, keeper, recorder, captures),
            *(replayer, opener, services, conditions, user_addons, core),
            *(listeners, own),
        )

    def close(self) -> None:
        """Close all parts. Stop the recorder first."""
        if self.user_addons is not None:
            self.user_addons.stop()
        self.services.pool.close_idle(float("inf"))
        self.replayer.stop()
        self.conditions.stop()
        self.services.admission.stop()
        self.services.pacing.stop()
        self.existing.close()
        self.claims.close()
        self.captures.close()


def _looking_back(settings: Settings, archive: Archive, services: Services) -> tuple[Replayer, Conditions]:
    """Return the replayer, and the conditions by which origins are asked whether a capture still holds."""

    def spool() -> Spool:
        return Spool(settings.proxy.spool_bytes, services.spool_folder, settings.archive.digest)

    patience = settings.storage.answer_seconds if settings.storage.url else None
    similar = settings.proxy.replay_similar
    replayer = Replayer(archive, services.gate, services.loop, answer_seconds=patience, takes_similar=similar)
    return replayer, Conditions(History(archive, spool, settings.dedup), services)


def _for_keeping(settings: Settings) -> Settings:
    """Return the settings for the writer. With `deliver = "written"`, the operating system brings written files to the
    disk.
    """
    if settings.proxy.deliver != "written":
        return settings
    return settings.model_copy(update={"archive": settings.archive.model_copy(update={"fsync": False})})
