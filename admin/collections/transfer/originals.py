"""Imported responses become originals in the dedup store, by the rules of `ghostfleet reindex`."""

from __future__ import annotations

from archive.settings.load import Settings
from archive.storage.presence import WarcFiles, home_name, is_alone
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import Claims
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.existing_originals import ExistingOriginals
from dedupdb.index.indexer import Indexer


def add_originals(settings: Settings, collection: str, captures: Captures, redis_url: str) -> int:
    """Add the originals of a collection to the dedup store; return how many are new there. Raises DedupUnavailable."""
    files, own_home = WarcFiles(settings), "" if is_alone(settings) else home_name(settings)
    with (
        Indexer(redis_url, captures, settings.home, files=files, own_home=own_home) as indexer,
        Claims(redis_url, claim_seconds=settings.dedup.claim_seconds, timeout_seconds=60) as claims,
    ):
        indexer.sweep(collection)  # also tells other homes which files are here
        is_there = ExistingOriginals(claims, captures, files, own_home).is_there
        return indexer.fill_dedup(collection, claims, DedupRules(settings.dedup), is_there)
