"""Captures of other programs are imported and judged: Browsertrix with its records of pages, wget and Heritrix without.

Pages without pictures are judged by their resources alone.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from playwright.sync_api import Route, sync_playwright
from support.archive.foreign_warcs import package_of
from support.archive.heritrix_crawl import site as heritrix
from support.archive.heritrix_crawl.site import png
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes import machine_needs as needs

from admin.models.database import open_database
from admin.models.qa_tables import QaPageState
from admin.qa import sessions
from admin.qa.leases import QA
from admin.qa.sessions import QaPageView
from archive.settings.load import load
from bench.process import our_command, source_environment
from browsers.engines.chromium.executable import find_chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
SECONDS = 300.0
NAME = "foreign"
URL = "https://hill.example/"
DAY = "2026-03-04T05:06:07.890Z"
_STYLE = "body{font:40px sans-serif;background:#dfd} img{width:400px;height:200px}"
_HILL = (
    f"<!doctype html><title>A hill</title><style>{_STYLE}</style><h1>Linnets on a hill</h1><img src=/hill.png>"
    "<iframe src=/frame.html></iframe>"
)
_LOST = f"<!doctype html><title>Lost</title><style>{_STYLE}</style><h1>A picture is lost</h1><img src=/lost.png>"
_FRAME = "<!doctype html><title>Frame</title><p>A frame"


def run(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        our_command(*map(str, arguments), "--home", str(home)),
        env=source_environment(), capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def judged(home: Path, *files: Path) -> dict[str, QaPageView]:
    """Import the files, judge the collection, and return its pages, of which each one is judged."""
    done = run(home, "collection", "import", NAME, *files)
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(home, "qa", "run", NAME, "--workers", "2", "--json")
    assert done.stdout, done.stderr
    session = json.loads(done.stdout)
    database = open_database(load({"home": str(home)}, environment={}))
    with database.reading(QA) as reading:
        found = sessions.list_pages(reading, session["id"], limit=500).items
    database.close()
    assert session["state"] == "done"
    assert [page for page in found if page.state is not QaPageState.JUDGED] == []
    assert session["judged"] == session["pages"] == len(found)
    return {page.url: page for page in found}


def reasons(page: QaPageView) -> list[tuple[str, str]]:
    return [(str(each["kind"]), str(each.get("url", ""))) for each in page.reasons]


def record(kind: str, url: str, block: bytes, content_type: str, *fields: str) -> bytes:
    head = [
        "WARC/1.1", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", f"WARC-Date: {DAY}",
        f"WARC-Record-ID: <urn:uuid:{sha256(url.encode()).hexdigest()[:32]}>",
        f"Content-Type: {content_type}", f"Content-Length: {len(block)}", *fields,
    ]  # fmt: skip
    return gzip.compress("\r\n".join((*head, "", "")).encode() + block + b"\r\n\r\n")


def answered(url: str, body: bytes, mime: str, page: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n\r\n".encode()
    fields = (f"WARC-Page-ID: {page}", "WARC-Resource-Type: document", "WARC-Protocol: h2")
    return record("response", url, head + body, "application/http; msgtype=response", *fields)


def pictures(*pages: str) -> list[bytes]:
    """Return what Browsertrix keeps of each page: a picture of a window of 1920 by 1080."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1920, "height": 1080})
        tab.route("**/*.png", lambda route: route.fulfill(body=png(), content_type="image/png"))
        tab.route("**/frame.html", lambda route: route.fulfill(body=_FRAME, content_type="text/html"))
        for number, page in enumerate(pages):
            tab.route(f"{URL}{number}", partial(Route.fulfill, body=page, content_type="text/html"))
        found = []
        for number in range(len(pages)):
            tab.goto(f"{URL}{number}")
            found.append(tab.screenshot())
        browser.close()
    return found


def browsertrix_package(path: Path) -> Path:
    """A WACZ file in the form that Browsertrix documents: pages.jsonl, pictures, texts, and information on pages."""
    bodies = {"": _HILL, "lost": _LOST}
    parts = [
        answered(f"{URL}hill.png", png(), "image/png", "page-0"),
        answered(f"{URL}frame.html", _FRAME.encode(), "text/html", "page-0"),
    ]
    listed = ['{"format":"json-pages-1.0","id":"pages","title":"All Pages"}']
    texts = {"": "Linnets on a hill", "lost": "A picture is lost"}
    for number, ((name, body), view) in enumerate(zip(bodies.items(), pictures(*bodies.values()), strict=True)):
        url, page = URL + name, f"page-{number}"
        asked = {
            url: {"status": 200, "mime": "text/html", "type": "document"},
            f"{URL}{name or 'hill'}.png": {"status": 200, "mime": "image/png", "type": "image"},
        }
        info = {"pageid": page, "url": url, "ts": DAY, "urls": asked, "counts": {"jsErrors": 0}}
        parts += [
            answered(url, body.encode(), "text/html", page),
            record("resource", f"urn:view:{url}", view, "image/png"),
            record("resource", f"urn:text:{url}", texts[name].encode(), "text/plain"),
            record("resource", f"urn:pageinfo:{url}", json.dumps(info).encode(), "application/json"),
        ]
        listed.append(json.dumps({"id": page, "url": url, "title": name, "ts": DAY, "loadState": 4, "status": 200}))
    return package_of(path, b"".join(parts), "\n".join(listed) + "\n")


def test_a_package_of_browsertrix_is_judged_by_its_own_pictures_and_texts(home: Path, tmp_path: Path) -> None:
    found = judged(home, browsertrix_package(tmp_path / "crawl.wacz"))
    assert set(found) == {URL, f"{URL}lost"}, "a frame is no page"
    assert reasons(found[URL]) == []
    assert {"view", "text"} <= set(found[URL].measures)
    assert reasons(found[f"{URL}lost"])[0] == ("missing-image", f"{URL}lost.png")


@pytest.mark.slow
def test_a_crawl_of_wget_is_judged_by_its_resources(home: Path, tmp_path: Path) -> None:
    wget = needs.program("wget", "it writes WARC files")
    bodies = {
        "/": b"<!doctype html><title>All</title><a href=/whole>whole</a><a href=/lacks>lacks</a><p>Pages",
        "/whole": b"<!doctype html><title>Whole</title><p>A picture <img src=/kept.png>",
        "/lacks": b"<!doctype html><title>Lacks</title><p>A picture <img src=/left-out.png>",
    }

    def routes(asked: Asked) -> Routed | None:
        if asked.path.endswith(".png"):
            return Routed(png(), "image/png")
        body = bodies.get(asked.path)
        return None if body is None else Routed(body, "text/html")

    with RoutedSite(routes) as site:
        url = site.url("").rstrip("/")
        options = ["-q", "-r", "-p", "--tries=1", "--timeout=20", "--reject", "left-out.png"]
        places = ["--warc-file", str(tmp_path / "wget"), "-P", str(tmp_path / "site")]
        subprocess.run([wget, *options, *places, f"{url}/"], timeout=SECONDS, check=False)
    found = judged(home, tmp_path / "wget.warc.gz")
    assert set(found) == {url + path for path in bodies}
    assert (reasons(found[f"{url}/"]), reasons(found[f"{url}/whole"])) == ([], [])
    assert reasons(found[f"{url}/lacks"]) == [("missing-image", f"{url}/left-out.png")]
    assert not any({"view", "fullPage", "text"} & set(page.measures) for page in found.values())


@pytest.mark.slow
def test_a_crawl_of_heritrix_is_judged_by_its_resources(home: Path) -> None:
    found = judged(home, heritrix.WARC)
    assert set(found) == {heritrix.URL + path for path in heritrix.PAGES}
    lacks = found.pop(f"{heritrix.URL}/lacks")
    assert reasons(lacks) == [("missing-image", f"{heritrix.URL}/left-out.png")]
    states = {"replayed": 1, "failed-at-capture": 1, "never-captured": 1}
    assert lacks.measures["resources"]["states"] == states, "the site itself answered 404 for the other picture"
    assert [page.url for page in found.values() if page.reasons] == []
