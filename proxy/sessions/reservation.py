"""A reservation counts a request against its limits while the request is in progress."""

from __future__ import annotations

import uuid

from proxy.refusal import Refused
from proxy.sessions.admission import Admission
from proxy.sessions.policy import Policy


class Reservation:
    """A request whose policy sets limits holds a reservation."""

    __slots__ = ("_admission", "_policy", "_token")

    def __init__(self, admission: Admission, policy: Policy) -> None:
        self._admission = admission
        self._policy = policy
        self._token = uuid.uuid4().hex
        """Identifies this reservation in Redis."""

    async def reserve(self) -> Refused | None:
        """Reserve the limits before anything is sent to the origin; return the refusal when they don't allow it."""
        return await self._admission.admit(self._policy.context.collection, self._policy.limits, self._token)

    def release(self) -> None:
        """Release the reservation when the request is over. Without a reservation nothing happens."""
        self._admission.release(self._policy.context.collection, self._policy.limits, self._token)
