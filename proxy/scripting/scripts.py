"""mitmproxy scripts of sessions come from the operator's folder only. They are loaded anew for each session, and run as
hooks.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from archive.settings import ProxySettings
from archive.settings.load import SettingsError
from proxy.protocol.mitmproxy_adapter import AddonHalt, AddonManager, Master, Options, hook_functions, hooks
from proxy.refusal import Refused
from proxy.scripting.python_file import forget, run_file

log = logging.getLogger(__name__)

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
    """Scripts of one session run in their order."""

    def __init__(self, master: Master, counts: Counter[str], live: set[Scripts]) -> None:
        """`live` holds the scripts of all sessions; the object is in this set until it is closed."""
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
        """Run a script's own code and its hooks `load`, `configure` and `running`. Raises their exceptions."""
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
        """Call the hook of every script. An exception is logged and counted, and the other scripts are called."""
        for module in self._modules:
            if not await self._run_one(module, hook):
                return

    async def _run_one(self, module: ModuleType, hook: hooks.Hook) -> bool:
        """Return whether the scripts after this one are to be called too."""
        try:
            for function in hook_functions(self._manager, module, hook):
                found = function(*hook.args())
                if inspect.isawaitable(found):
                    await found
        except AddonHalt:
            return False
        except Exception as error:
            self._counts["script_errors"] += 1
            log.error("script %s failed in its hook %r: %r", module.__file__, hook.name, error, exc_info=error)
        return True

    def close(self) -> None:
        """End the session's scripts: call `done`, and drop the modules. May be called again."""
        if self not in self._live:
            return
        self._live.discard(self)
        try:
            self._manager.clear()  # type: ignore[no-untyped-call]
        except Exception as error:
            self._counts["script_errors"] += 1
            log.error("a script failed in its hook 'done': %r", error, exc_info=error)
        for module in self._modules:
            forget(module)


class ScriptFolder:
    """Loads scripts by name from the operator's folder."""

    def __init__(self, settings: ProxySettings, master: Master, counts: Counter[str]) -> None:
        self._folder = Path(settings.script_folder).expanduser().resolve() if settings.script_folder else None
        self._body_bytes = settings.script_body_bytes
        self._master = master
        self._counts = counts
        self._live: set[Scripts] = set()

    def close(self) -> None:
        """End all scripts with the process."""
        for scripts in list(self._live):
            scripts.close()

    def load(self, names: Sequence[str]) -> Scripts | None:
        """Load the scripts of these names anew and return them; None without names.

        Raises Refused (400, 403) naming the script that can't be used.
        """
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
        """Return the scripts of the setting proxy.scripts. Raises SettingsError."""
        try:
            return self.load(names)
        except Refused as refused:
            raise SettingsError(f"setting proxy.scripts: {refused}") from refused

    def _path(self, name: str) -> Path:
        if self._folder is None:
            raise Refused(
                403, "field 'scripts': this proxy has no folder of scripts; set proxy.script_folder", "scripts"
            )
        path = (self._folder / name).resolve()
        if path.suffix != ".py" or not path.is_relative_to(self._folder) or not path.is_file():
            raise Refused(
                403, f"field 'scripts': {name!r} is not a .py file in the folder of proxy.script_folder", "scripts"
            )
        return path

    def _declare_options(self) -> None:
        options = self._master.options
        for name, kind, default in _OPTIONS:
            if name not in options:
                options.add_option(name, kind, default, "")
        options.update(stream_large_bodies=str(self._body_bytes))  # type: ignore[no-untyped-call]
