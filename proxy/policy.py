"""How one request is to be treated: whom it is for, what its client and its session wish together. Pure."""

from __future__ import annotations

from archive.capture import Context
from archive.facts import fact
from dedupdb.quotas import Limit
from proxy.admission import blocked, limits_of
from proxy.gate import NO_META, Meta, Session, context_of
from proxy.refusal import Refused
from proxy.rules import Subject
from proxy.wishes import NOTHING, Wishes


@fact(frozen=True, slots=True)
class Policy:
    """The treatment of one request."""

    context: Context
    wishes: Wishes = NOTHING
    limits: tuple[Limit, ...] = ()
    """Those of the wishes' limits that are for this URL."""
    refusal: Refused | None = None
    """Why it is not to be fetched at all."""


def policy_of(session: Session, meta: Meta, url: str, referrer: str | None, *, archived: bool = True) -> Policy:
    """The policy for a URL. Raises Refused (400) for block rules that take too long.

    Where neither page nor meta data nor rules tell one URL from another, the session has one policy for all of them.
    """
    spec, known = session.spec, session.plain
    if meta is not NO_META or spec.page_url is not None:
        return _policy(session, meta, url, referrer, archived=archived)
    if known is None or known[0] is not spec or known[1] is not archived:
        policy = _policy(session, meta, url, referrer, archived=archived)
        if policy.wishes.blocks or policy.wishes.limits or policy.wishes.stats:
            return policy
        session.plain = known = (spec, archived, policy)
    return known[2]


def _policy(session: Session, meta: Meta, url: str, referrer: str | None, *, archived: bool) -> Policy:
    wishes = session.spec.wishes.and_also(meta.wishes)
    context = context_of(session, meta, url, referrer, wishes=wishes, archived=archived)
    if not wishes.blocks and not wishes.limits:
        return Policy(context, wishes)
    subject = Subject(url, referrer)
    refusal = blocked(wishes.blocks, subject) if wishes.blocks else None
    return Policy(context, wishes, limits_of(wishes.limits, subject.host), refusal)
