"""Start what judges and repairs need: recording proxies, which replay as well, and a browser.

The proxies are a fleet of its own, as each crawl has one, so that QA works beside an installation and without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from admin.fleet.fleet import Fleet
from admin.fleet.home_folder import control_token
from admin.fleet.process import StartError
from admin.fleet.supervisor import RestartLimitReached
from admin.jobs.crawling.crawl import single_machine_settings
from archive.settings.load import Settings
from browsers.engines.choice import proxy_trust
from browsers.engines.interface import BrowserMissing
from browsers.ghosts.ghost import Ghost
from browsers.proxying.control_client import Control
from browsers.visit import FleetUnavailable


class ToolsMissing(Exception):
    """The proxies or the browser could not be started, or can't be kept alive. The message is one line."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The browser and the proxies with which a process judges and repairs pages."""

    settings: Settings
    ghost: Ghost
    controls: tuple[Control, ...]
    proxy: str
    tick: Callable[[], None] = field(default=lambda: None)
    """The owner calls this several times a second. It restarts proxies that died, and raises ToolsMissing when it
    can't."""


@contextmanager
def running_tools(
    settings: Settings, note: Callable[[str], None], abandon: Callable[[], bool], hurry: Callable[[], bool]
) -> Iterator[Tools]:
    """Start a fleet and a browser for as long as the context lasts. When `hurry` returns True, the fleet ends at once.

    Raises ToolsMissing, and StartInterrupted when `abandon` returns True.
    """
    chosen = _settings(settings)
    fleet = Fleet(chosen, note, abandon)
    try:
        addresses = fleet.start()
    except StartError as error:
        raise ToolsMissing(str(error)) from error
    controls: tuple[Control, ...] = ()
    ghost: Ghost | None = None
    try:
        token = control_token(chosen.home)
        controls = tuple(Control(address, token) for address in addresses.controls)
        ghost = Ghost(chosen, controls, proxy_trust(chosen.home, addresses.proxy))

        def tick() -> None:
            try:
                fleet.tick()
            except (RestartLimitReached, StartError) as error:
                raise ToolsMissing(str(error)) from error

        yield Tools(chosen, ghost, controls, addresses.proxy, tick)
    except (BrowserMissing, FleetUnavailable) as error:
        raise ToolsMissing(str(error)) from error
    finally:
        if ghost is not None:
            ghost.close()
        for control in controls:
            control.close()
        fleet.stop(hurry)


def _settings(settings: Settings) -> Settings:
    """Return the settings for a fleet beside others, whose ports it must not want."""
    single = single_machine_settings(settings)
    return single.model_copy(
        update={
            "proxy": single.proxy.model_copy(update={"port": 0, "control_port": 0, "session_ports": ""}),
            "admin": single.admin.model_copy(update={"cdx_port": 0}),
            "browsers": single.browsers.model_copy(update={"second_device": "", "cache": "cold"}),
        }
    )
