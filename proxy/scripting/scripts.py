"""mitmproxy scripts of sessions: found in the operator's folder only, loaded afresh for each session, run as hooks."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from mitmproxy import hooks
from mitmproxy.addonmanager import AddonManager
from mitmproxy.exceptions import AddonHalt
from mitmproxy.options import Options

from archive.sections import ProxySettings
from archive.settings import SettingsError
from proxy.mitm import Master
from proxy.pythonfile import forget, run_file
from proxy.refusal import Refused

log = logging.getLogger(__name__)

HOOKS: Final = ("requestheaders", "request", "responseheaders", "response", "error")
"""What scripts are asked about each exchange, in order; `error` instead of `response`."""
_OPTIONS: Final = (
    ("store_streamed_bodies", bool, False),
    ("stream_large_bodies", str | None, None),
    ("body_size_limit", str | None, None),
    ("validate_inbound_headers", bool, False),
    ("websocket", bool, True),
    ("rawtcp", bool, False),
    ("keep_host_header", bool, False),
)
"""Options that mitmproxy's HTTP layer reads, and that elsewhere its own server declares."""


class Scripts:
    """The scripts of one session, in their order."""

    def __init__(self, master: Master, counts: Counter[str], live: set[Scripts]) -> None:
        """Until it is closed it is among the `live` ones."""
        self._live = live
        live.add(self)
        self._manager = AddonManager(master)  # type: ignore[no-untyped-call]
        self._modules: list[ModuleType] = []
        self._counts = counts
        self._tasks: set[asyncio.Task[bool]] = set()

    @property
    def options(self) -> Options:
        """mitmproxy's options, as scripts see them."""
        return cast(Options, self._manager.master.options)

    def add(self, path: Path) -> None:
        """Run a script's own code and its `load`, `configure` and `running`. Raises what they raise."""
        module = run_file(path)
        module.name = str(path)  # type: ignore[attr-defined]
        self._modules.append(module)
        self._manager.add(module)  # type: ignore[no-untyped-call]
        known = set(self.options.keys())  # type: ignore[no-untyped-call]
        self._manager.invoke_addon_sync(module, hooks.ConfigureHook(known))
        running = hooks.RunningHook()  # type: ignore[no-untyped-call]
        task = asyncio.get_running_loop().create_task(self._run_one(module, running))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def run(self, hook: hooks.Hook) -> None:
        """Call that hook of every script. What one raises is logged and counted, and the others are called."""
        for module in self._modules:
            if not await self._run_one(module, hook):
                return

    async def _run_one(self, module: ModuleType, hook: hooks.Hook) -> bool:
        """Whether the scripts behind it are to be called too."""
        try:
            for function in self._functions(module, hook):
                found = function(*hook.args())
                if inspect.isawaitable(found):
                    await found
        except AddonHalt:
            return False
        except Exception as error:
            self._counts["script_errors"] += 1
            log.error("script %s failed in %s: %r", module.__file__, hook.name, error, exc_info=error)
        return True

    def close(self) -> None:
        """The session is over: `done`, and the modules are let go. May be called again."""
        if self not in self._live:
            return
        self._live.discard(self)
        try:
            self._manager.clear()  # type: ignore[no-untyped-call]
        except Exception as error:
            self._counts["script_errors"] += 1
            log.error("a script failed in done: %r", error, exc_info=error)
        for module in self._modules:
            forget(module)

    def _functions(self, module: ModuleType, hook: hooks.Hook) -> Iterator[Any]:
        for _, function in self._manager._iter_hooks(module, hook):
            yield function


class ScriptFolder:
    """Loads scripts by name from the operator's folder."""

    def __init__(self, settings: ProxySettings, master: Master, counts: Counter[str]) -> None:
        self._folder = Path(settings.script_folder).expanduser().resolve() if settings.script_folder else None
        self._body_bytes = settings.script_body_bytes
        self._master = master
        self._counts = counts
        self._live: set[Scripts] = set()

    def close(self) -> None:
        """The process ends: so do all scripts."""
        for scripts in list(self._live):
            scripts.close()

    def load(self, names: Sequence[str]) -> Scripts | None:
        """The scripts of those names, fresh; None for no names. Raises Refused (400, 403) naming what can't be used."""
        if not names:
            return None
        paths = [self._path(name) for name in names]
        self._declare_options()
        scripts = Scripts(self._master, self._counts, self._live)
        for name, path in zip(names, paths, strict=True):
            try:
                scripts.add(path)
            except Exception as error:  # whatever the script's own code does
                scripts.close()
                raise Refused(400, f"script {name!r} can't be loaded: {type(error).__name__}: {error}") from error
        return scripts

    def by_setting(self, names: Sequence[str]) -> Scripts | None:
        """Those of the setting proxy.scripts. Raises SettingsError."""
        try:
            return self.load(names)
        except Refused as refused:
            raise SettingsError(f"setting proxy.scripts: {refused}") from refused

    def _path(self, name: str) -> Path:
        if self._folder is None:
            raise Refused(403, "field 'scripts': no scripts are allowed here; set proxy.script_folder", "scripts")
        path = (self._folder / name).resolve()
        if path.suffix != ".py" or not path.is_relative_to(self._folder) or not path.is_file():
            raise Refused(403, f"field 'scripts': {name!r} is no .py file in the folder of scripts", "scripts")
        return path

    def _declare_options(self) -> None:
        options = self._master.options
        for name, kind, default in _OPTIONS:
            if name not in options:
                options.add_option(name, kind, default, "")
        options.update(stream_large_bodies=str(self._body_bytes))  # type: ignore[no-untyped-call]
