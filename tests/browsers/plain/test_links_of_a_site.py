"""A plain crawl of a small site finds what each kind of document names, with Heritrix's hop letters."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfWriter
from pypdf.annotations import Link
from support.browsers.visits import Fleet
from support.browsers.worker_runs import harvest, opened, quick
from support.origins.routed_site import Asked, Routed, RoutedSite

PAGE = """<!DOCTYPE html><html><head>
<!--[if IE]><link rel=stylesheet href=/ie.css><![endif]-->
<script type="application/ld+json">{"@type": "Article", "image": "/ld.jpg", "url": "/ld.html"}</script>
<meta property="og:image" content="{site}/og.jpg"><meta property="og:url" content="{site}/og.html">
<script>load("/inline.json", "text/html", "1.5")</script><script src=/lib/app.js></script></head>
<body onload="go('/handler.html')"><img data-src=/lazy.jpg data-srcset="/lazy-2x.jpg 2x"><tr data-href=/row.html>
<video poster=/poster.jpg></video><object codebase=/media/ data=film.mpd></object>
<a href=/paper.pdf>paper</a> <a href=/list.xml>list</a>
<a href="javascript:open('/popup.html')">popup</a></body></html>"""
FILM = """<MPD mediaPresentationDuration="PT4S"><Period><AdaptationSet>
<SegmentTemplate media="s$Number$.m4s" initialization="init.mp4" duration="2"/><Representation/>
</AdaptationSet></Period></MPD>"""


def paper(address: str) -> bytes:
    writer = PdfWriter()
    writer.add_blank_page(99, 99)
    writer.add_annotation(0, Link(rect=(0, 0, 9, 9), url=address))
    told = io.BytesIO()
    writer.write(told)
    return told.getvalue()


def routes(asked: Asked) -> Routed | None:
    site = f"http://{asked.headers['Host']}"
    match asked.path:
        case "/":
            return Routed(PAGE.replace("{site}", site).encode())
        case "/lib/app.js":
            return Routed(b"import './part.js'; get('/from-script.html'); x = '/cut/' + y", "text/javascript")
        case "/inline.json":
            return Routed(b'{"next": "/from-json.html", "kind": "image/png"}', "application/json")
        case "/media/film.mpd":
            return Routed(FILM.encode(), "application/dash+xml")
        case "/paper.pdf":
            return Routed(paper(f"{site}/from-pdf.html"), "application/pdf")
        case "/list.xml":
            return Routed(f"<list><a href='/from-xml.html'/><b>{site}/text.html</b></list>".encode(), "text/xml")
    return Routed(b"", "text/plain")


SURE = {
    "/": "",
    "/ie.css": "E",
    "/ld.jpg": "E",
    "/ld.html": "L",
    "/og.jpg": "E",
    "/og.html": "L",
    "/lib/app.js": "E",
    "/lazy.jpg": "E",
    "/lazy-2x.jpg": "E",
    "/poster.jpg": "E",
    "/media/film.mpd": "E",
    "/media/init.mp4": "EE",
    "/media/s1.m4s": "EE",
    "/media/s2.m4s": "EE",
    "/paper.pdf": "L",
    "/from-pdf.html": "LL",
    "/list.xml": "L",
}
GUESSED = {
    "/inline.json": "X",
    "/handler.html": "X",
    "/row.html": "X",
    "/popup.html": "X",
    "/lib/part.js": "EX",
    "/from-script.html": "EX",
    "/from-json.html": "XX",
    "/from-xml.html": "LX",
    "/text.html": "LX",
}


def crawled(fleet: Fleet, redis_url: str, site: RoutedSite, **profile: object) -> dict[str, str]:
    """The hop path of each URL of the crawl, as crawl.log has it."""
    settings = quick(fleet)
    frontier = opened(settings, redis_url, [site.url("/")], robots="ignore", **profile)
    log_dir = fleet.home / "logs" / frontier.job.collection
    harvest(settings, fleet, redis_url, log_dir=str(log_dir))
    lines = [line.split() for line in (log_dir / "crawl.log").read_text().splitlines()]
    return {line[3].removeprefix(site.url("").rstrip("/")): line[4].strip("-") for line in lines}


def test_each_document_gives_its_links(fleet: Fleet, redis_url: str) -> None:
    with RoutedSite(routes) as site:
        assert crawled(fleet, redis_url, site) == SURE | GUESSED


def test_a_profile_leaves_guesses_out(fleet: Fleet, redis_url: str) -> None:
    with RoutedSite(routes) as site:
        assert crawled(fleet, redis_url, site, guessed_links="off") == SURE


@pytest.mark.parametrize(
    ("hops", "expected"),
    [
        (0, set()),
        (1, {"/a.js", "/c.html"}),
        (2, {"/a.js", "/c.html", "/b.html"}),
    ],
)
def test_the_limit_of_guesses_out_of_scope_decides(fleet: Fleet, redis_url: str, hops: int, expected: set[str]) -> None:
    """The page guesses a page and a script of another site, and the script guesses a second page there."""

    def other(asked: Asked) -> Routed | None:
        script = f"go('http://{asked.headers['Host']}/b.html')"
        return Routed(script.encode(), "text/javascript") if asked.path == "/a.js" else Routed(b"")

    with RoutedSite(other, "127.0.1.18") as second:
        guesses = f"go('{second.url('/a.js')}'); go('{second.url('/c.html')}'); go('/in-scope.html')"

        def first(_: Asked) -> Routed | None:
            return Routed(f"<script>{guesses}</script>".encode())

        with RoutedSite(first) as site:
            taken = crawled(fleet, redis_url, site, speculative_hops=hops)

            assert taken["/in-scope.html"] == "X"
            assert {path for path in second.paths if path != "/robots.txt"} == expected


def test_guesses_do_not_lead_a_job_beyond_its_limit_of_pages(fleet: Fleet, redis_url: str) -> None:
    """Each page guesses five others, which count neither as pages nor as depth."""

    def routes(asked: Asked) -> Routed | None:
        number = int(asked.path.strip("/p.html") or 0)
        return Routed("".join(f"<script>go('/p{number * 5 + each}.html')</script>" for each in range(1, 6)).encode())

    with RoutedSite(routes) as site:
        crawled(fleet, redis_url, site, limits={"pages": 2, "urls": 100})

        assert sorted(site.paths) == ["/", *(f"/p{number}.html" for number in range(1, 6))]
