"""A policy says how one request is to be treated. Pure."""

from __future__ import annotations

from archive.capture import Context
from archive.fast_frozen import fast_frozen
from dedupdb.fleet.quotas import Limit
from proxy.refusal import Refused
from proxy.sessions.request_options import NOTHING, RequestOptions


@fast_frozen(frozen=True, slots=True)
class Policy:
    """A policy is the treatment of one request."""

    context: Context
    options: RequestOptions = NOTHING
    limits: tuple[Limit, ...] = ()
    """The limits of the options whose bucket this request counts in."""
    refusal: Refused | None = None
    """The refusal of a request that must not be fetched."""
