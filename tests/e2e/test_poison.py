"""Pages that a site makes to stop a crawler cost that site's own pages, and nobody else's (T2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browsers.garden_crawl import COLLECTION, END_SECONDS, IMPOLITE, QUICK, crawl, crawling, fetched, kill9
from support.browsers.visits import document, page
from support.origins.raw_origin import RawOrigin, Step
from support.processes.machine_needs import redis_server

from admin.demo.garden import GardenSite


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    """The hostile site."""
    with RawOrigin("127.0.1.9") as origin:
        yield origin


def missing(home: Path) -> set[str]:
    """Pages of the honest site that were not kept."""
    return set(GardenSite.urls()) - {capture.url for capture in fetched(home) if capture.status == 200}


def test_hostile_documents_do_not_keep_a_crawl_from_an_honest_site(
    garden: GardenSite, home: Path, origin: RawOrigin
) -> None:
    redis_server()
    formatting = "<p>" + "".join(f"<b id={n}>" for n in range(5000)) + "</p>" + "<p>x</p>" * 5000
    bodies = {
        "/nested": "<div>" * 300_000,
        "/attributes": "<i " + " ".join(f"a{n}=1" for n in range(50_000)) + ">",
        "/formatting": formatting,
        "/templates": "<template><svg><select>" * 50_000,
    }
    for path, body in bodies.items():
        origin.script(path, page(body + f"<a href={path}-last>"))
    origin.script("/style", document(b"a{" * 300_000 + b"b:url(/style-last)", "text/css"))
    origin.script("/sitemap.txt", document(b"\n" * 500_000, "text/plain"))
    entities = (
        b'<!DOCTYPE urlset [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><urlset><loc>http://&b;/</loc></urlset>'
    )
    origin.script("/sitemap.xml", document(entities, "application/xml"))
    seeds = [origin.url(path) for path in (*bodies, "/style", "/sitemap.txt", "/sitemap.xml")]

    done = crawl(garden, home, *seeds, "--limit-time", "100s")

    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    assert missing(home) == set()
    asked = {visit.path for visit in origin.visits}
    assert {f"{path}-last" for path in (*bodies, "/style")} <= asked


@pytest.mark.timeout(300)
def test_a_page_that_kills_its_worker_twice_is_set_aside(garden: GardenSite, home: Path, origin: RawOrigin) -> None:
    redis_server()
    crawls: list[int] = []

    def kill(_: bytes) -> list[Step]:
        kill9(crawls[0], home, ("worker-",))
        return [page("<a href=/after>")]

    origin.answer("/poison", kill)
    environment = {**QUICK, **IMPOLITE}
    with crawling(garden, home, origin.url("/poison"), "--workers", "1", environment=environment) as process:
        crawls.append(process.pid)
        process.wait(END_SECONDS)

    assert [visit.path for visit in origin.visits].count("/poison") == 2
    assert missing(home) == set()
    (log,) = (home / "collections" / COLLECTION / "jobs").glob("*/crawl.log")
    lines = [line.split() for line in log.read_text("utf-8").splitlines()]
    aside = [line for line in lines if line[1] == "-3000"]
    assert [(line[3], line[11]) for line in aside] == [(origin.url("/poison"), "3t,workers-lost:2")]
    assert "1 -3000" in (log.parent / "responsecode-report.txt").read_text("utf-8").splitlines()
