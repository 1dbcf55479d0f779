"""The policy of a request is built from its session and from what its client asks for. Pure."""

from __future__ import annotations

from archive.capture import Context
from proxy.sessions.admission import block_refusal, limits_of
from proxy.sessions.path_from_seed import attempt_number, hop_path_and_via, log_name
from proxy.sessions.policy import Policy
from proxy.sessions.request_options import NO_META, NOT_ARCHIVED, NOTHING, Meta, RequestOptions
from proxy.sessions.rules import Subject
from proxy.sessions.session import Session
from proxy.sessions.stats_buckets import names_of


def policy_of(session: Session, meta: Meta, url: str, referrer: str | None, *, archived: bool = True) -> Policy:
    """Return the policy for a URL. Raises Refused (400) for block rules that take too long.

    A session has one policy for all URLs when neither a page, metadata, the log nor rules treat URLs differently.
    """
    spec, known = session.spec, session.cached_policy
    is_own = meta is not NO_META or spec.page_url is not None or (spec.log_ending and referrer is not None)
    if not is_own and known is not None and known[0] is spec and known[1] is archived:
        return known[2]
    policy = _policy(session, meta, url, referrer, archived=archived)
    if not (is_own or policy.options.blocks or policy.options.limits or policy.options.stats):
        session.cached_policy = (spec, archived, policy)
    return policy


def context_of(
    session: Session,
    meta: Meta,
    url: str,
    referrer: str | None,
    *,
    options: RequestOptions = NOTHING,
    archived: bool = True,
) -> Context:
    """Return the context of a fetch. `options` are those of the session and of the request together."""
    spec, facts = session.spec, meta.facts
    hop_path, via = hop_path_and_via(spec, facts, url, referrer)
    if spec.redaction.fields and via:
        via = spec.redaction.url(via)
    return Context(
        collection=spec.collection,
        job=spec.job,
        page_id=facts.get("page_id", spec.page_id),
        page_url=spec.page_url,
        prefix=None if options.prefix == NOT_ARCHIVED else options.prefix,
        hop_path=hop_path,
        via=via,
        source=facts.get("seed", spec.source),
        log_dir=spec.log_dir,
        log_name=log_name(spec, meta.options.prefix),
        dedup=options.dedup,
        buckets=options.buckets,
        archived=archived and options.prefix != NOT_ARCHIVED,
        stats=names_of(options.stats, Subject(url).host) if options.stats else (),
        attempt=attempt_number(spec, facts, url),
    )


def _policy(session: Session, meta: Meta, url: str, referrer: str | None, *, archived: bool) -> Policy:
    options = session.spec.options.merged_with(meta.options)
    context = context_of(session, meta, url, referrer, options=options, archived=archived)
    if not options.blocks and not options.limits:
        return Policy(context, options)
    limits = limits_of(options.limits, context.stats)
    refusal = block_refusal(options.blocks, Subject(url, referrer)) if options.blocks else None
    return Policy(context, options, limits, refusal)
