"""A replay never reaches the live web, even if a request of it were fetched by mistake."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from proxy.fetch.connecting import Connecting
from proxy.refusal import Refused
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec


class Owner:
    """Remembers how it was turned away."""

    refused: Refused | None = None

    def turn_away(self, refused: Refused) -> None:
        self.refused = refused


def test_a_request_of_a_replay_ends_before_it_connects() -> None:
    """The parts that would look up a name or open a connection are missing, so that their use would fail."""
    session, owner = Session(SessionSpec("news", mode="replay")), Owner()
    order = SimpleNamespace(session=session, policy=SimpleNamespace(refusal=None, limits=()))
    nothing = cast(Any, None)

    Connecting(cast(Any, order), nothing, nothing, nothing, nothing, keeps=False).begin(cast(Any, owner))

    assert owner.refused is not None
    assert (owner.refused.status, owner.refused.word) == (500, "replay")
