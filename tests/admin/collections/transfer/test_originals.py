"""An import and a rebuild leave the same rows in the index and the same keys in Redis."""

from __future__ import annotations

from pathlib import Path

from redis import Redis
from support.archive.foreign_warcs import base32, by_warcprox, http
from support.archive.heritrix_crawl.site import WARC
from support.archive.imported_collection import ImportedShelf, made

from admin.collections.transfer.originals import add_originals
from archive.settings.load import Settings
from dedupdb.claims.claims import Claims
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.index.indexer import Indexer

PAYLOAD = b"a page that does not change " * 100


def contents(redis_url: str) -> dict[bytes, object]:
    """Every key of the collection's dedup store with its value, whatever its type."""
    found: dict[bytes, object] = {}
    with Redis.from_url(redis_url) as client:
        for key in client.keys("*old*"):
            kind = client.type(key)
            reads = {b"hash": client.hgetall, b"set": client.smembers, b"string": client.get}
            found[key] = reads[kind](key) if kind in reads else kind
    return found


def test_an_import_and_a_rebuild_agree(settings: Settings, redis_url: str) -> None:
    notes = made("metadata", "metadata://crawl/notes", b"a: b\r\n", Content_Type="application/warc-fields")[0]
    file = made("resource", "urn:text:http://hill.example/", b"text", Content_Type="text/plain")[0]
    page = made("response", "http://hill.example/", http(PAYLOAD), WARC_Payload_Digest=base32(PAYLOAD))[0]
    with ImportedShelf(settings) as shelf:
        shelf.take(
            made("warcinfo", "", b"software: x/1\r\n", Content_Type="application/warc-fields")[0], page, notes, file
        )
        other = Path(settings.home) / "warcprox.warc.gz"
        other.write_bytes(by_warcprox("b.example"))
        shelf.take_file(WARC)
        shelf.take_file(other)
        assert add_originals(settings, "old", shelf.captures, redis_url) > 0

        imported = (shelf.captures.count("old"), contents(redis_url))
        with (
            Indexer(redis_url, shelf.captures, settings.home) as indexer,
            Claims(redis_url, claim_seconds=60, timeout_seconds=20) as claims,
        ):
            count = indexer.reindex("old", report=lambda repaired: None)
            indexer.rebuild_dedup("old", claims, DedupRules(settings.dedup))
        rebuilt = (shelf.captures.count("old"), contents(redis_url))

    assert count == imported[0]
    assert rebuilt == imported
    assert any(b"old" in key for key in imported[1])
