"""A site with the bad input of which crawlers are afraid is crawled to its end, and what is refused is counted."""

from __future__ import annotations

import gzip
from typing import Final

from support.browsers.visits import Fleet, document, page, redirect
from support.browsers.worker_runs import harvest, opened, quick
from support.origins.raw_origin import RawOrigin

from browsers.links.collector import MAX_LINKS
from frontier.definition.scope import MAX_CHAIN

MOST: Final = 20
"""Most links of a page that the profile takes."""
NUMBERED: Final = 10_000
TAKEN: Final = (b"/r/0", b"/%252525252e%25252e/%25%32%65", b"/\xff\xfe\xc3(")
REJECTED: Final = {
    "scope": ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/", "http://[::1]:8080/"),
    "too-long": ("/" + "x" * 65_000,),
}
"""References by the reason for which the scope rejects them. The first two are one URL."""
TOO_LONG_TO_READ: Final = ("/" + "y" * 65_537, "/" + "z" * 1_000_000)
NO_LINKS: Final = (
    *("javascript:alert(1)", "data:text/html,<a href=/data>", "http://[::1/", "http://[fe80::1%25eth0]/"),
    *("http://example.org:0/", "http://example.org:65536/", "http://" + "a." * 500 + "example/"),
)
ENTITIES: Final = (
    b'<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    b"<urlset><url><loc>/&b;</loc></url></urlset>"
)


def test_a_hostile_site_is_crawled_to_its_end_and_counted(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    user = f"http://user:word@{origin.authority}/userinfo"
    others = [user, *(each for group in REJECTED.values() for each in group), *TOO_LONG_TO_READ, *NO_LINKS]
    numbered = [f"/p/{number}" for number in range(NUMBERED)]
    links = [*TAKEN, *(each.encode() for each in (*others, *numbered))]
    home = b"".join(b'<a href="%s">x</a>' % link for link in links)
    origin.script("/", document(home, "text/html; charset=utf-8"))
    lists = b"<!doctype html><p>not the rules of robots\nSitemap: /bomb.xml\nSitemap: /entities.xml\n"
    origin.script("/robots.txt", document(lists, "text/html"))
    bomb = gzip.compress(gzip.compress(bytes(50_000_000)))
    origin.script("/bomb.xml", document(bomb, "application/xml", headers="Content-Encoding: gzip\r\n"))
    origin.script("/entities.xml", document(ENTITIES, "application/xml"))
    for number in range(2 * MAX_CHAIN):
        origin.script(f"/r/{number}", redirect(f"/r/{number + 1}"))
    origin.otherwise(lambda _: [page("<p>a page")])
    settings = quick(fleet)
    frontier = opened(settings, redis_url, [origin.url("/")], scope="host", max_links=MOST)
    log_dir = fleet.home / "logs" / frontier.job.collection

    harvest(settings, fleet, redis_url, log_dir=str(log_dir))

    progress = frontier.reports.progress()
    rejected = {"scope": 2, "too-long": 1, "redirect-chain": 1, "too-many-links": MAX_LINKS - 3 - MOST}
    assert progress.rejected == rejected
    assert (progress.queued, progress.leased, progress.failed) == (0, 0, 0)
    assert progress.codes == {200: 1 + 2 + MOST - 1, 302: MAX_CHAIN + 1}
    asked = {visit.path for visit in origin.visits}
    assert asked >= {"/userinfo", "/%252525252e%25252e/%25%32%65", "/%EF%BF%BD%EF%BF%BD%EF%BF%BD(", f"/r/{MAX_CHAIN}"}
    assert not [path for path in asked if "alert" in path or "data" in path or len(path) > 100]
    notes = {line.split()[3]: line.split()[11] for line in (log_dir / "crawl.log").read_text("utf-8").splitlines()}
    dropped = len(TOO_LONG_TO_READ) + len(TAKEN) + 1 + 3 + NUMBERED - MAX_LINKS
    assert notes[origin.url("/")] == f"links-dropped:{dropped}"
    assert notes[origin.url("/bomb.xml")] == "body-capped"
    frontier.close()
