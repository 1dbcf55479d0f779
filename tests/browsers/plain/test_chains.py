"""A site can't keep the crawler for ever by redirects, embeds or lists that each name the next one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.browsers.visits import Fleet
from support.browsers.worker_runs import harvest, opened, quick
from support.origins.routed_site import Asked, Routed, RoutedSite

from archive import crawl_log
from archive.crawl_log import LogLine
from frontier.definition import scope
from frontier.definition.scope import MAX_CHAIN

_XSL = '<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:import href="{}"/></xsl:stylesheet>'
_PLAYLIST = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{}\n"
_INDEX = "<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>"
_FEED = '<feed xmlns="http://www.w3.org/2005/Atom"><link rel="next" href="{}"/></feed>'


def lines_of(log_dir: Path) -> list[LogLine]:
    return [crawl_log.parse(line) for line in (log_dir / "crawl.log").read_text("utf-8").splitlines()]


def step(kind: str, number: int, site: str) -> Routed:
    """The answer number `number` of an endless chain of this kind."""
    target = f"{site}/{kind}/{number + 1}"
    match kind:
        case "header":
            return Routed(status=302, headers=(("Location", target), ("Set-Cookie", "seen=1")))
        case "body":
            return Routed(f"<a href='{target}-other'>here</a>".encode(), status=302, headers=(("Location", target),))
        case "refresh":
            return Routed(b"<p>wait", headers=(("Refresh", f"0; url={target}"),))
        case "meta":
            text = f"<a href='{target}'>here</a><meta http-equiv=refresh content='0; url={target}'>"
            return Routed(text.encode())
        case "frame":
            return Routed(f"<iframe src='{target}'></iframe>".encode())
        case "mixed":
            if number % 2:
                return Routed(status=307, headers=(("Location", target),))
            return Routed(f"<frameset><frame src='{target}'></frameset>".encode())
        case "css":
            return Routed(f"@import '{target}';".encode(), "text/css")
        case "playlist":
            return Routed(_PLAYLIST.format(target).encode(), "application/vnd.apple.mpegurl")
        case "xsl":
            return Routed(_XSL.format(target).encode(), "text/xsl")
        case "index":
            return Routed(_INDEX.format(target).encode(), "text/xml")
        case _:
            return Routed(_FEED.format(target).encode(), "application/atom+xml")


def routes(asked: Asked) -> Routed | None:
    kind, _, number = asked.path[1:].partition("/")
    return step(kind, int(number), "") if number.isdigit() else None


CHAIN, LISTS = 6, 10
"""The limits of this test, which are lower than the product's."""
LIMITS = {
    **dict.fromkeys(("header", "body", "refresh", "meta", "frame", "mixed", "css", "playlist", "xsl"), CHAIN),
    **dict.fromkeys(("index", "feed"), LISTS),
}


def test_a_chain_of_any_kind_ends_and_says_so(fleet: Fleet, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "MAX_CHAIN", CHAIN)
    monkeypatch.setattr(scope, "MAX_LISTS", LISTS)
    settings = quick(fleet)
    with RoutedSite(routes) as site:
        frontier = opened(settings, redis_url, [site.url(f"/{kind}/0") for kind in LIMITS])
        log_dir = fleet.home / "logs" / frontier.job.collection
        harvest(settings, fleet, redis_url, log_dir=str(log_dir))
        asked = Counter(path.split("/")[1] for path in site.paths)

    assert asked == {kind: 1 + limit for kind, limit in LIMITS.items()}
    rejected = frontier.reports.progress().rejected
    assert {reason: rejected[reason] for reason in rejected if reason.endswith("chain")} == {
        "redirect-chain": 4,
        "embed-chain": 5,
        "list-chain": 2,
    }
    notes = {line.url.rsplit("/", 2)[1]: line.annotations for line in lines_of(log_dir) if "-chain" in str(line)}
    assert set(notes) == set(LIMITS)
    assert notes["header"] == ("redirect-chain",)


def test_changing_hosts_does_not_begin_a_chain_anew(fleet: Fleet, redis_url: str) -> None:
    sites: list[RoutedSite] = []

    def away(asked: Asked) -> Routed | None:
        number = asked.path[1:]
        if not number.isdigit():
            return None
        target = sites[int(number) % 2].url(f"/{int(number) + 1}")
        return Routed(status=302, headers=(("Location", target), ("Set-Cookie", f"n={number}")))

    settings = quick(fleet)
    with RoutedSite(away) as first, RoutedSite(away, "127.0.1.18") as second:
        sites += [second, first]
        frontier = opened(settings, redis_url, [first.url("/0")], scope="any")
        harvest(settings, fleet, redis_url)
        requests = len(first.paths) + len(second.paths)

    assert requests == 1 + MAX_CHAIN
    assert frontier.reports.progress().rejected["redirect-chain"] == 1
