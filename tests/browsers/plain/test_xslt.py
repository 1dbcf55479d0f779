"""XML that a browser shows by XSLT is captured with all style sheets, and a ghost follows the links of the result."""

from __future__ import annotations

import pytest
from support.browsers.visits import Fleet
from support.browsers.worker_runs import harvest, opened, quick
from support.origins.routed_site import Asked, Routed, RoutedSite

STYLE = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:import href="more.xsl"/><xsl:include href='/deep/less.xslt'/>
<xsl:template match="/"><html><body><img src="/picture.png"/>
<a href="{concat('/from', '-result')}">on</a> <xsl:value-of select="document('/words.xml')/words"/>
</body></html></xsl:template></xsl:stylesheet>"""
EMPTY = '<xsl:transform version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>'
PAGE = """<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="/style.xsl"?>
<?xml-stylesheet type="text/css" href="x.css"?>"""
PARTS = {"/style.xsl", "/more.xsl", "/deep/less.xslt", "/words.xml", "/picture.png"}


def routes(asked: Asked) -> Routed | None:
    match asked.path:
        case "/" | "/data.xml":
            return Routed(f"{PAGE}<page/>".encode(), "text/xml")
        case "/style.xsl":
            return Routed(
                STYLE.encode(), "application/octet-stream" if "plain" in asked.headers["User-Agent"] else "text/xsl"
            )
        case "/more.xsl" | "/deep/less.xslt":
            return Routed(EMPTY.encode(), "application/xml")
        case "/words.xml":
            return Routed(b"<words>moss</words>", "text/xml")
        case "/x.css":
            return Routed(b"page { color: red }", "text/css")
        case "/from-result":
            return Routed(b"the end")
    return None


def test_the_plain_crawler_fetches_the_style_sheets(fleet: Fleet, redis_url: str) -> None:
    settings = quick(fleet)
    with RoutedSite(routes) as site:
        opened(settings, redis_url, [site.url("/data.xml")], user_agent="plain")
        harvest(settings, fleet, redis_url)
        asked = site.paths

    assert sorted(asked) == sorted({"/data.xml", "/x.css", *PARTS})


@pytest.mark.browser
def test_a_ghost_follows_the_links_of_the_result(fleet: Fleet, redis_url: str) -> None:
    settings = quick(fleet, browsers__sandbox=False, browsers__settle_max_seconds=3)
    with RoutedSite(routes) as site:
        frontier = opened(settings, redis_url, [site.url("/"), site.url("/data.xml")], visitor="browser", behaviors=())
        harvest(settings, fleet, redis_url)
        asked = set(site.paths)

    assert {"/", "/data.xml", "/from-result", *PARTS} <= asked
    kept = fleet.proxy.records(frontier.job.collection)
    for path in ("/", "/data.xml"):
        assert b"/from-result" in kept.of(f"urn:dom:{site.url(path)}", "resource")[0].block
