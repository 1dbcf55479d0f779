"""This module logs in by a flow that was recorded in Chrome's DevTools, from the address of its first step on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import Clock, PageAccess, PageLeft
from browsers.behaviors.patience import Patience
from browsers.behaviors.user_files.flows import Flow, FlowPlayer, read_flow
from browsers.engines.interface import BrowserWindow, EngineError
from browsers.logins.browser_profile import LoginCheck
from browsers.logins.form_login import LoginFailed, check_login, open_page

MOST_TEXT: Final = 1_000_000
"""Largest number of characters of a flow."""
_FLOW_SECONDS: Final = 90.0
_STEP_SECONDS: Final = 4.0


def flow_of(name: Path, text: str) -> Flow:
    """Return the flow in a text. Raises ScriptError, which names the file."""
    return read_flow(name, text)


async def log_in_by_flow(window: BrowserWindow, text: str, check: LoginCheck) -> None:
    """Run the flow, and check the login at its end. Raises LoginFailed, whose message shows nothing of the flow."""
    flow = flow_of(Path("login.json"), text)
    await open_page(window, flow.url)
    player = FlowPlayer(flow)
    page = PageAccess(window, Patience(window), _STEP_SECONDS)
    page.clock = Clock(_FLOW_SECONDS)
    try:
        ended = await player.run(page)
    except (EngineError, PageLeft, TimeoutError) as error:
        raise LoginFailed(f"step {player.steps + 1} of the flow for {flow.url} failed") from error
    if ended is BehaviorEnd.TIMEOUT:
        raise LoginFailed(f"the flow for {flow.url} took more than {_FLOW_SECONDS:.0f} s")
    await check_login(window, check)
