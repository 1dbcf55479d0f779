"""A hosted behaviour is chosen for one visit. It may bring scripts and functions before the page is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.engines.interface import Binding, InitScript


class ScriptError(ValueError):
    """A file with behaviours can't be used. The message names the file, the reason and the remedy in one line."""


class HostedBehavior(Protocol):
    """A user's behaviour runs once on one page."""

    id: str
    """Name in the outcome, such as `flow:Login`."""
    steps: int
    init_scripts: Sequence[InitScript]
    bindings: Sequence[Binding]

    async def run(self, page: PageAccess) -> BehaviorEnd:
        """Run until it says that it is done, or the page's clock is up. Raises ToolFailed and PageLeft."""
        ...
