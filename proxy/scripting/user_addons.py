"""Users' addons (`proxy.extend`) are loaded, asked before a fetch, and notified after a record. They can't break a
record.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from archive import crawl_log
from archive.capture import Capture
from archive.repairs import is_repair
from archive.settings.load import Settings, SettingsError
from proxy.extend import Addon, Asked, Block, Decision, Rewrite
from proxy.origins.egress import parse
from proxy.protocol.heads import NEVER_FORWARDED
from proxy.protocol.http1 import RequestHead
from proxy.refusal import Refused, check_name, check_text
from proxy.scripting.python_file import run_file
from proxy.sessions.request_options import parse_options
from proxy.sessions.spec import SessionSpec

log = logging.getLogger(__name__)

GROUP: Final = "ghostfleet.addons"
_WAITING: Final = 10_000
_SLOW_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class LoadedAddon:
    """A loaded addon is an addon with its name. A hook that it does not override is None."""

    name: str
    blocks_when_failing: bool
    before_connect: Callable[[Asked], Decision] | None
    after_keep: Callable[[Capture], None] | None
    close: Callable[[], None] | None


def user_addons_of(settings: Settings) -> UserAddons | None:
    """Start the addons of the setting proxy.addons; None without any. Raises SettingsError as `load` does."""
    addons = load(settings.proxy.addons, settings.home)
    return UserAddons(addons) if addons else None


def load(names: Sequence[str], home: Path) -> list[LoadedAddon]:
    """Return the addons named in `proxy.addons`, in order; relative paths begin at the home.

    Raises SettingsError for an addon that does not exist, can't be loaded or has no hook.
    """
    return [_loaded(name, home) for name in names]


def _loaded(name: str, home: Path) -> LoadedAddon:
    try:
        found = _from_file(home / name) if name.endswith(".py") or "/" in name else _from_entry_point(name)
        addon = found() if callable(found) else found
    except SettingsError:
        raise
    except Exception as error:  # whatever its code does while it is imported or made
        raise SettingsError(f"setting proxy.addons: {name} can't be loaded: {type(error).__name__}: {error}") from error
    hooks = {hook: _hook(addon, hook) for hook in ("before_connect", "after_keep", "close")}
    if not (hooks["before_connect"] or hooks["after_keep"]):
        raise SettingsError(f"setting proxy.addons: {name} has neither before_connect nor after_keep")
    failing = getattr(addon, "when_failing", "block")
    if failing not in ("block", "allow"):
        raise SettingsError(f"setting proxy.addons: {name}: when_failing = {failing!r} must be block or allow")
    return LoadedAddon(str(getattr(addon, "name", "") or name), failing == "block", **hooks)


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise SettingsError(f"setting proxy.addons: there is no file {path}")
    found = getattr(run_file(path), "addon", None)
    if found is None:
        raise SettingsError(f"setting proxy.addons: {path} must define `addon`: an object, or a class to make it from")
    return found


def _from_entry_point(name: str) -> Any:
    points = entry_points(group=GROUP)
    if name not in points.names:
        known = ", ".join(sorted(points.names)) or "none"
        raise SettingsError(
            f"setting proxy.addons: no entry point of the group {GROUP} is called {name}; installed are {known}"
        )
    return points[name].load()


def _hook(addon: Any, name: str) -> Any:
    found = getattr(addon, name, None)
    if getattr(found, "__func__", None) is getattr(Addon, name):
        return None
    return found if callable(found) else None


class UserAddons:
    """User addons take part in the exchanges of one process. Call `judge` on the event loop; `kept` may be called on
    any thread.
    """

    def __init__(self, addons: Sequence[LoadedAddon]) -> None:
        self._addons = addons
        self._deciding = [addon for addon in addons if addon.before_connect is not None]
        self._listeners = [addon for addon in addons if addon.after_keep is not None]
        self.errors: Counter[str] = Counter({addon.name: 0 for addon in addons})
        """Failures of each addon, by its name: exceptions, and decisions that can't be carried out."""
        self.missed = 0
        """Captures that the addons were not told of, because they were too slow."""
        self._slow: set[str] = set()
        self._queue: queue.Queue[Capture | None] = queue.Queue()
        self._thread = threading.Thread(target=self._notify, name="addons", daemon=True)
        self._thread.start()

    def judge(self, session_id: str, spec: SessionSpec, head: RequestHead, url: str) -> SessionSpec | Refused:
        """Return the session's spec as the addons change it for this request, one after the other, or their refusal."""
        if not self._deciding:
            return spec
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value, _ in head.fields
            if name not in NEVER_FORWARDED
        )
        for addon in self._deciding:
            try:
                found = self._decision(addon, Asked(session_id, spec, head.method, url, headers))
                if isinstance(found, Block):
                    return _refused(f"blocked by addon {addon.name}: {found.reason}", "blocked-by-addon")
                spec = spec if found is None else rewritten(spec, found)
            except Exception as error:  # an addon's fault must be told as one, whatever it is
                self._failed(addon, error)
                if addon.blocks_when_failing:
                    return _refused(f"addon {addon.name} failed, see the log; nothing was fetched", "addon-failed")
        return spec

    def kept(self, captures: Sequence[Capture]) -> None:
        """Notify the addons of these captures later, without waiting."""
        if self._listeners:
            for capture in captures:
                if self._queue.qsize() < _WAITING:
                    self._queue.put_nowait(capture)
                else:
                    self.missed += 1

    def stop(self) -> None:
        """Let the addons process the waiting captures and close, within five seconds. Blocks."""
        self._queue.put(None)
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            log.warning(
                "addons were still busy when the process ended and did not get about %d captures", self._queue.qsize()
            )

    def _decision(self, addon: LoadedAddon, asked: Asked) -> Decision:
        assert addon.before_connect is not None
        began = time.perf_counter()
        found = addon.before_connect(asked)
        if time.perf_counter() - began > _SLOW_SECONDS and addon.name not in self._slow:
            self._slow.add(addon.name)
            log.warning(
                "addon %s takes longer than %s s to decide, and all clients wait meanwhile", addon.name, _SLOW_SECONDS
            )
        if not isinstance(found, Block | Rewrite | None):
            raise TypeError(f"before_connect must return Block, Rewrite or None, not {type(found).__name__}")
        return found

    def _notify(self) -> None:
        while (capture := self._queue.get()) is not None:
            for addon in self._listeners:
                try:
                    assert addon.after_keep is not None
                    addon.after_keep(capture)
                except Exception as error:
                    self._failed(addon, error)
        for addon in self._addons:
            try:
                if addon.close is not None:
                    addon.close()
            except Exception as error:
                self._failed(addon, error)

    def _failed(self, addon: LoadedAddon, error: Exception) -> None:
        self.errors[addon.name] += 1
        log.error("addon %s failed: %s: %s", addon.name, type(error).__name__, error, exc_info=error)


def rewritten(spec: SessionSpec, change: Rewrite) -> SessionSpec:
    """Return the spec with that change. Raises Refused naming the field that can't be used."""
    facts: dict[str, Any] = {}
    if change.collection is not None:
        check_name("collection", change.collection)
        facts["collection"] = change.collection
    if change.job is not None:
        check_text("job", change.job)
        if is_repair(change.job):
            raise Refused(400, f"job = {change.job!r} names a repair; write another name")
        facts["job"] = change.job
    if change.egress is not None:
        parse(change.egress)
        facts["egress"] = change.egress
    options = {**change.wishes, **({"warc-prefix": change.prefix} if change.prefix is not None else {})}
    if options:
        facts["options"] = spec.options.merged_with(parse_options(options))
    return replace(spec, **facts)


def _refused(reason: str, word: str) -> Refused:
    return Refused(403, reason, word, code=crawl_log.BLOCKED_BY_RULE)
