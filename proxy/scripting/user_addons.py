"""Users' addons (`proxy.extend`): found, asked before a fetch, told after a record. They can't break a record."""

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
from archive.settings import Settings, SettingsError
from proxy.egress import parse
from proxy.extend import Addon, Asked, Block, Decision, Rewrite
from proxy.heads import NEVER_FORWARDED
from proxy.http1 import RequestHead
from proxy.pythonfile import run_file
from proxy.refusal import Refused, check_name, check_text
from proxy.spec import SessionSpec
from proxy.wishes import parse_wishes

log = logging.getLogger(__name__)

GROUP: Final = "ghostfleet.addons"
_WAITING: Final = 10_000
_SLOW_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """An addon and what it is called. A hook that it does not override is None."""

    name: str
    blocks_when_failing: bool
    before_connect: Callable[[Asked], Decision] | None
    after_keep: Callable[[Capture], None] | None
    close: Callable[[], None] | None


def extensions_of(settings: Settings) -> Extensions | None:
    """What `proxy.addons` asks for, at work; None when that is nothing. Raises SettingsError as `load` does."""
    addons = load(settings.proxy.addons, settings.home)
    return Extensions(addons) if addons else None


def load(names: Sequence[str], home: Path) -> list[Loaded]:
    """The addons named in `proxy.addons`, in order; relative paths are of the home.

    Raises SettingsError in one line for one that is not there, can't be loaded or has no hook.
    """
    return [_loaded(name, home) for name in names]


def _loaded(name: str, home: Path) -> Loaded:
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
    return Loaded(str(getattr(addon, "name", "") or name), failing == "block", **hooks)


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
        raise SettingsError(f"setting proxy.addons: no entry point {GROUP} is called {name}; installed: {known}")
    return points[name].load()


def _hook(addon: Any, name: str) -> Any:
    found = getattr(addon, name, None)
    if getattr(found, "__func__", None) is getattr(Addon, name):
        return None
    return found if callable(found) else None


class Extensions:
    """The addons of one process at work. `judge` belongs to the event loop, `kept` to any thread."""

    def __init__(self, addons: Sequence[Loaded]) -> None:
        self._addons = addons
        self._judges = [addon for addon in addons if addon.before_connect is not None]
        self._listeners = [addon for addon in addons if addon.after_keep is not None]
        self.errors: Counter[str] = Counter({addon.name: 0 for addon in addons})
        """Times that an addon raised, or asked for what can't be done; by its name."""
        self.missed = 0
        """Captures that nobody was told of, because addons were too slow."""
        self._slow: set[str] = set()
        self._queue: queue.Queue[Capture | None] = queue.Queue()
        self._thread = threading.Thread(target=self._tell, name="addons", daemon=True)
        self._thread.start()

    def judge(self, session_id: str, spec: SessionSpec, head: RequestHead, url: str) -> SessionSpec | Refused:
        """The session as the addons want it for this request, each seeing what those before it made of it."""
        if not self._judges:
            return spec
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value, _ in head.fields
            if name not in NEVER_FORWARDED
        )
        for addon in self._judges:
            try:
                found = self._asked(addon, Asked(session_id, spec, head.method, url, headers))
                if isinstance(found, Block):
                    return _refused(f"blocked by addon {addon.name}: {found.reason}", "blocked-by-addon")
                spec = spec if found is None else rewritten(spec, found)
            except Exception as error:  # an addon's fault must be told as one, whatever it is
                self._failed(addon, error)
                if addon.blocks_when_failing:
                    return _refused(f"addon {addon.name} failed, see the log; nothing was fetched", "addon-failed")
        return spec

    def kept(self, captures: Sequence[Capture]) -> None:
        """Have the addons told of these, later. Never waits."""
        if self._listeners:
            for capture in captures:
                if self._queue.qsize() < _WAITING:
                    self._queue.put_nowait(capture)
                else:
                    self.missed += 1

    def stop(self) -> None:
        """Let the addons see what waits and close, within five seconds. Blocks."""
        self._queue.put(None)
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            log.warning("addons were still busy at the end; about %d captures are untold", self._queue.qsize())

    def _asked(self, addon: Loaded, asked: Asked) -> Decision:
        assert addon.before_connect is not None
        began = time.perf_counter()
        found = addon.before_connect(asked)
        if time.perf_counter() - began > _SLOW_SECONDS and addon.name not in self._slow:
            self._slow.add(addon.name)
            log.warning("addon %s takes longer than %s s to decide: all clients wait", addon.name, _SLOW_SECONDS)
        if not isinstance(found, Block | Rewrite | None):
            raise TypeError(f"before_connect must return Block, Rewrite or None, not {type(found).__name__}")
        return found

    def _tell(self) -> None:
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

    def _failed(self, addon: Loaded, error: Exception) -> None:
        self.errors[addon.name] += 1
        log.error("addon %s failed: %s: %s", addon.name, type(error).__name__, error, exc_info=error)


def rewritten(spec: SessionSpec, change: Rewrite) -> SessionSpec:
    """The spec with that change. Raises Refused naming the field that can't be used."""
    facts: dict[str, Any] = {}
    if change.collection is not None:
        check_name("collection", change.collection)
        facts["collection"] = change.collection
    if change.job is not None:
        check_text("job", change.job)
        facts["job"] = change.job
    if change.egress is not None:
        parse(change.egress)
        facts["egress"] = change.egress
    wishes = {**change.wishes, **({"warc-prefix": change.prefix} if change.prefix is not None else {})}
    if wishes:
        facts["wishes"] = spec.wishes.and_also(parse_wishes(wishes))
    return replace(spec, **facts)


def _refused(reason: str, word: str) -> Refused:
    return Refused(403, reason, word, code=crawl_log.BLOCKED_BY_RULE)
