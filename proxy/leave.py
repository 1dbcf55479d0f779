"""The leave that one request has under its limits, from asking to giving it back."""

from __future__ import annotations

import uuid

from proxy.admission import Admission
from proxy.policy import Policy
from proxy.refusal import Refused


class Leave:
    """For a request whose policy sets limits."""

    __slots__ = ("_admission", "_policy", "_token")

    def __init__(self, admission: Admission, policy: Policy) -> None:
        self._admission = admission
        self._policy = policy
        self._token = uuid.uuid4().hex
        """Names our reservations."""

    async def ask(self) -> Refused | None:
        """Nothing is sent to the origin before the limits allow it; the refusal when they don't."""
        return await self._admission.ask(self._policy.context.collection, self._policy.limits, self._token)

    def give_back(self) -> None:
        """The request is over; harmless for what was never given."""
        self._admission.release(self._policy.context.collection, self._policy.limits, self._token)
