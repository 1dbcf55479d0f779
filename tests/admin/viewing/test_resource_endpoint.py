"""admin/viewing/resource_endpoint.py: one address for each archived resource, asked over a socket."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator

import httpx
import pytest
from support.archive.browsed_collection import DAY, NAME
from support.archive.exchanges import DATE
from support.browsers.running_viewer import CollectionShelf, RunningViewer, running_viewer

from admin.collections.reader_misses import read_misses
from admin.viewing.resource_endpoint import ResourceAddress, nearest_first, read_address
from archive.capture import Original
from archive.settings.load import Settings
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars

LARGE = bytes(range(256)) * 40_000
AT = "/w/news/20261121081500id_"


@pytest.fixture
def viewer(settings: Settings) -> Iterator[RunningViewer]:
    shelf = CollectionShelf(settings)
    first = shelf.put("/page", b"first", "Set-Cookie: a=1", "Content-Security-Policy: default-src x")
    shelf.put("/page", b"second", date=DATE + 40 * DAY)
    shelf.put("/same", b"first", date=DATE + 41 * DAY, original=Original.of(first))
    shelf.put("/packed", gzip.compress(b"packed"), "Content-Encoding: gzip")
    shelf.put("/large", LARGE, mime="video/mp4")
    shelf.put("/old", b"", "Location: /page?x=1#y", status="301 Moved")
    shelf.put("/page?x=1", b"with a query")
    shelf.put("/a%2Fb//c?d=%20e", b"odd")
    shelf.put("/denied", b"no", status="403 Forbidden")
    shelf.put("/form", b"answer 1", method="POST", sent=b"a=1")
    shelf.put("/form", b"answer 2", method="POST", sent=b"a=2")
    shelf.close()
    other = CollectionShelf(settings, "other")
    other.put("/page", b"other", date=DATE + 20 * DAY)
    other.put("/elsewhere", b"elsewhere")
    other.close()
    with running_viewer(settings) as running:
        yield running


@pytest.fixture
def client(viewer: RunningViewer) -> Iterator[httpx.Client]:
    with viewer.client() as client:
        yield client


def test_the_nearest_capture_answers_with_its_own_bytes(client: httpx.Client) -> None:
    found = client.get(f"{AT}/http://example.org/page")
    assert (found.status_code, found.content) == (200, b"first")
    assert found.headers["Memento-Datetime"] == "Sat, 21 Nov 2026 08:15:00 GMT"
    assert found.headers["X-Proxy-Set-Cookie"] == "a=1"
    assert "Set-Cookie" not in found.headers
    assert client.get("/w/news/20270101id_/http://example.org/page").content == b"second"
    assert client.get("/w/news/id_/http://example.org/page").content == b"second"
    assert client.get("/w/news/2026id_/http://EXAMPLE.org:80/page").content == b"first"


def test_a_revisit_has_the_bytes_of_its_original(client: httpx.Client) -> None:
    assert client.get("/w/news/2027id_/http://example.org/same").content == b"first"


def test_content_codings_that_the_client_takes_stay_and_the_length_is_told(client: httpx.Client) -> None:
    for taken in ("gzip", "identity"):
        with client.stream("GET", f"{AT}/http://example.org/packed", headers={"Accept-Encoding": taken}) as found:
            raw = b"".join(found.iter_raw())
        assert found.headers.get("Content-Encoding", "identity") == taken
        assert (gzip.decompress(raw) if taken == "gzip" else raw) == b"packed"
        assert found.headers["Content-Length"] == str(len(raw))


def test_parts_come_from_the_whole(client: httpx.Client) -> None:
    url = f"{AT}/http://example.org/large"
    assert client.get(url).content == LARGE
    part = client.get(url, headers={"Range": "bytes=1000000-1000099"})
    assert (part.status_code, part.content) == (206, LARGE[1_000_000:1_000_100])
    assert part.headers["Content-Range"] == f"bytes 1000000-1000099/{len(LARGE)}"
    assert client.get(url, headers={"Range": "bytes=-5"}).content == LARGE[-5:]
    head = client.head(url)
    assert (head.status_code, head.content, head.headers["Content-Length"]) == (200, b"", str(len(LARGE)))


def test_a_redirect_is_our_own(client: httpx.Client) -> None:
    found = client.get(f"{AT}/http://example.org/old")
    assert found.status_code == 301
    assert found.headers["Location"] == f"{AT}/http://example.org/page?x=1#y"
    assert client.get(found.headers["Location"]).content == b"with a query"


def test_the_url_is_taken_as_it_was_sent(client: httpx.Client, viewer: RunningViewer) -> None:
    assert client.get(f"{AT}/http://example.org/a%2Fb//c?d=%20e").content == b"odd"
    request = f"GET {AT}/http://example.org/a%2Fb//c?d=%20e HTTP/1.0\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", viewer.port)) as stream:
        stream.sendall(request)
        answer = b"".join(iter(lambda: stream.recv(65_536), b""))
    assert answer.endswith(b"\r\n\r\nodd")


def test_a_method_answers_with_its_own_captures(client: httpx.Client) -> None:
    for number in (1, 2):
        found = client.post(f"{AT}/http://example.org/form", data={"a": str(number)})
        assert found.content == f"answer {number}".encode()
    assert client.get(f"{AT}/http://example.org/form").status_code == 404
    assert client.post(f"{AT}/http://example.org/page", content=b"a=1").status_code == 404
    assert client.post(f"{AT}/http://example.org/form", content=bytes(17_000_000)).status_code == 413


def player(page: str = "") -> dict[str, str]:
    """The headers with which the player's worker asks for a document, or for what a page asks for."""
    document = {"Accept": "text/html,*/*;q=0.8", "Upgrade-Insecure-Requests": "1"}
    return {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors", **({"X-Proxy-Referer": page} if page else document)}


def test_a_page_in_the_player_gets_the_answers_of_one_url_in_their_order(
    client: httpx.Client, settings: Settings
) -> None:
    shelf = CollectionShelf(settings, "orders")
    shelf.put("/page", b"<p>page")
    for at, state in enumerate((b"wait", b"wait more", b"ready")):
        shelf.put("/state", state, date=DATE + at * 1_000_000)
    shelf.put("/state", b"next year", date=DATE + 365 * DAY)
    shelf.close()
    at, page = "/w/orders/20261121081500id_", "http://example.org/page"

    def state(**headers: str) -> bytes:
        return client.get(f"{at}/http://example.org/state", headers=headers).content

    for _ in range(2):  # each load of the page begins again
        client.get(f"{at}/{page}", headers=player())
        assert [state(**player(page)) for _ in range(4)] == [b"wait", b"wait more", b"ready", b"ready"]
    assert state() == b"wait", "another program gets the nearest one"
    assert state(**player("http://elsewhere.org/page")) == b"ready", "of the reader's last page, as far as is known"


def test_misses_of_pages_in_the_player_are_counted_when_the_setting_asks_for_it(settings: Settings) -> None:
    shelf = CollectionShelf(settings)
    shelf.put("/page", b"first")
    shelf.close()
    page, view = "http://example.org/page", settings.view.model_copy(update={"collect_misses": True})
    for chosen in (settings, settings.model_copy(update={"view": view})):
        assert read_misses(settings, NAME) == []
        with running_viewer(chosen) as running, running.client() as client:
            client.get(f"{AT}/{page}", headers=player())
            for url in ("lost.png", "lost.png", "lost.png?typed=secret", "page"):
                client.get(f"{AT}/http://example.org/{url}", headers=player(page))
            client.get(f"{AT}/http://example.org/gone", headers=player())
            client.get(f"{AT}/http://example.org/asked-by-a-program")
            client.post(f"{AT}/http://example.org/sent", headers=player(page))
    found = {(miss.url, miss.page, miss.times) for miss in read_misses(settings, NAME)}
    assert found == {("http://example.org/lost.png", page, 2), ("http://example.org/gone", "", 1)}


def test_a_redirect_that_keeps_the_method_is_followed_for_the_player(client: httpx.Client, settings: Settings) -> None:
    shelf = CollectionShelf(settings, "moves")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    shelf.put("/from", b"", "Location: /to", status="307 Moved", method="POST", sent=b"a=1")
    shelf.put("/to", b"kept", method="POST", sent=b"a=1")
    shelf.put("/from", b"", "Location: /round", status="308 Moved", method="POST", sent=b"a=2")
    shelf.put("/round", b"", "Location: /round", status="308 Moved", method="POST", sent=b"a=2")
    shelf.put("/other", b"", "Location: /to", status="303 See", method="POST", sent=b"a=1")
    shelf.close()
    at = "/w/moves/20261121081500id_/http://example.org"

    assert client.post(f"{at}/from", content=b"a=1", headers=form).content == b"kept"
    assert client.post(f"{at}/from", content=b"a=2", headers=form).status_code == 308
    assert client.post(f"{at}/other", content=b"a=1", headers=form).status_code == 303
    assert client.put(f"{at}/from", content=b"a=1", headers=form).status_code == 404


def test_a_long_body_chooses_its_answer_by_all_of_its_bytes(client: httpx.Client, settings: Settings) -> None:
    shelf = CollectionShelf(settings, "bodies")
    long, form = b"q=" + b"x" * 6_000, {"Content-Type": "application/x-www-form-urlencoded"}
    for name in (b"moss", b"fern"):
        shelf.put("/api", name, method="POST", sent=long + b"&name=" + name)
    shelf.close()

    found = client.post("/w/bodies/2026id_/http://example.org/api", content=long + b"&name=fern", headers=form)

    assert found.content == b"fern"


def test_what_is_not_there_is_404_in_the_form_that_the_client_reads(client: httpx.Client) -> None:
    found = client.get(f"{AT}/http://example.org/none?<script>")
    assert found.status_code == 404
    assert json.loads(found.text)["url"].startswith("http://example.org/none?")
    page = client.get(f"{AT}/http://example.org/none?<script>", headers={"Accept": "text/html,*/*"})
    assert page.status_code == 404
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<script>" not in page.text
    assert client.get("/w/none/2026id_/http://example.org/page").status_code == 404
    assert client.get(f"{AT}/http://example.org/denied").status_code == 403


def test_without_a_collection_the_nearest_of_all_answers(client: httpx.Client) -> None:
    assert client.get("/w/20261121id_/http://example.org/page").content == b"first"
    assert client.get("/w/20261211id_/http://example.org/page").content == b"other"
    assert client.get("/w/id_/http://example.org/page").content == b"second"
    assert client.get("/w/2026id_/http://example.org/elsewhere").content == b"elsewhere"
    assert client.get("/w/2026id_/http://example.org/old").headers["Location"].startswith("/w/2026id_/http://")
    assert client.get("/w/2026id_/http://example.org/none").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        *("/w/", "/w/news", "/w/news/", "/w/news/2026id_/", "/w/news/2026id_/ftp://x/", "/w/../news/2026id_/http://x/"),
        *("/w/news/20269999id_/http://example.org/", "/w/news/2026id_/http:///x", "/w/ne%00ws/2026id_/http://x/"),
        f"/w/news/2026id_/http://example.org/{'x' * 61_000}",
    ],
)
def test_an_address_that_is_none_is_refused(viewer: RunningViewer, path: str) -> None:
    with socket.create_connection(("127.0.0.1", viewer.port)) as stream:
        stream.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        answer = b"".join(iter(lambda: stream.recv(65_536), b""))
    assert answer.split()[1] in (b"400", b"404"), answer[:200]


def test_a_resource_that_a_browser_opens_by_itself_runs_no_script(client: httpx.Client) -> None:
    url = f"{AT}/http://example.org/page"
    for headers in ({"Sec-Fetch-Dest": "document"}, {"Sec-Fetch-Dest": "iframe"}, {}):
        assert client.get(url, headers=headers).headers["Content-Security-Policy"].startswith("sandbox; default-src 'n")
    worker = client.get(url, headers={"Sec-Fetch-Dest": "empty"}).headers
    assert "Content-Security-Policy" not in worker
    assert worker["X-Archive-Orig-Content-Security-Policy"] == "default-src x"


def test_a_record_that_is_damaged_or_gone_is_no_answer(client: httpx.Client, settings: Settings) -> None:
    (path,) = settings.archive_dir(NAME).glob("*.warc.gz")
    with Captures(settings.database_url) as index:
        large = index.nearest(NAME, "http://example.org/large", None, limit=1)[0]
    path.write_bytes(path.read_bytes()[: large.offset + large.length // 2])
    with pytest.raises(httpx.RemoteProtocolError):
        client.get(f"{AT}/http://example.org/large")
    damaged = client.get(f"{AT}/http://example.org/page?x=1")
    assert (damaged.status_code, str(settings.home) in damaged.text) == (502, False)
    assert client.get("/w/other/2026id_/http://example.org/page").content == b"other"
    path.unlink()
    assert client.get(f"{AT}/http://example.org/page").status_code == 502


def test_without_a_collection_a_similar_url_of_any_collection_answers(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("admin.viewing.resource_endpoint._SIMILAR_SECONDS", 60.0)  # a slow machine is no failure
    found = client.get("/w/20261121081500id_/http://example.org/elsewhere?_=1763712900123")
    assert (found.status_code, found.content) == (200, b"elsewhere")
    assert client.get("/w/20261121081500id_/http://example.org/nowhere?_=1763712900123").status_code == 404


def test_a_collection_that_is_being_written_answers_with_what_the_index_has(
    client: httpx.Client, settings: Settings
) -> None:
    shelf = CollectionShelf(settings, "growing")
    shelf.put("/now", b"now")
    shelf.writer.sync()
    assert client.get("/w/growing/2026id_/http://example.org/now").status_code == 404
    with Captures(settings.database_url) as captures:
        Sidecars(settings.home, captures).reconcile("growing")
    assert client.get("/w/growing/2026id_/http://example.org/now").content == b"now"
    shelf.close()
    assert client.get("/w/growing/2026id_/http://example.org/now").content == b"now"


def test_a_client_that_leaves_stops_the_reading(viewer: RunningViewer, client: httpx.Client) -> None:
    for _ in range(20):
        with client.stream("GET", f"{AT}/http://example.org/large") as found:
            next(found.iter_raw(1000))
    assert client.get(f"{AT}/http://example.org/page").content == b"first"


def test_addresses_have_these_parts() -> None:
    assert read_address("news/2026id_/http://x/?a=b") == ResourceAddress("news", "2026", "http://x/?a=b")
    assert read_address("2026/2027id_/http://x/") == ResourceAddress("2026", "2027", "http://x/")
    assert read_address("2027id_/HTTPS://x/") == ResourceAddress(None, "2027", "https://x/")
    assert read_address("news/id_/http:/x/") == ResourceAddress("news", "", "http://x/")
    assert read_address("../2026id_/http://x/") is None
    assert nearest_first({"a": 1, "b": 9, "c": 5}, 6) == ["c", "b", "a"]
    assert nearest_first({"a": 1, "b": 9, "c": 5}, None) == ["b", "c", "a"]
