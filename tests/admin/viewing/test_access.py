"""admin/viewing/access.py: whom the viewer answers, asked over a socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from support.archive.browsed_collection import NAME
from support.browsers.running_viewer import CollectionShelf, RunningViewer, running_viewer

from admin.viewing.access import Gatekeeper, RefusedRequest
from admin.viewing.tickets import TicketKey
from archive.listener_access import view_exposure
from archive.settings.load import Settings, load

KEY = TicketKey(b"k" * 32)
PAGE = "w/news/2026id_/http://example.org/page"


@pytest.fixture
def filled(settings: Settings) -> Settings:
    for name in (NAME, "other"):
        shelf = CollectionShelf(settings, name)
        shelf.put("/page", name.encode())
        shelf.close()
    return settings


@pytest.fixture
def guarded(filled: Settings) -> Iterator[RunningViewer]:
    """A viewer that wants tickets."""
    with running_viewer(filled, KEY) as running:
        yield running


def with_settings(settings: Settings, **changes: object) -> Settings:
    return settings.model_copy(update={"view": settings.view.model_copy(update=changes)})


def test_only_a_ticket_opens_the_viewer_of_an_installation(guarded: RunningViewer) -> None:
    ticket = KEY.issue(NAME, time.time(), 3600)
    with guarded.client() as client:
        assert client.get("/replay/sw.js").status_code == 404, "the worker is on host names of collections alone"
        for path in ("/", f"/{PAGE}", "/c/news/", "/static/view.css", f"/s/{ticket[:-1]}x/c/news/"):
            assert client.get(path).status_code == 403, path
        assert client.get(f"/s/{ticket}/{PAGE}").content == b"news"
        assert client.get(f"/s/{ticket}/c/news/").status_code == 200
        assert client.get(f"/s/{ticket}").headers["Location"] == f"/s/{ticket}/"
        start = client.get(f"/s/{ticket}/").text
        assert f'href="/s/{ticket}/c/news/"' in start
        assert f'href="/s/{ticket}/static/view.css"' in start
        assert client.get(f"/s/{ticket}/static/view.css").status_code == 200
        expired = KEY.issue(NAME, time.time() - 90_000, 3600)
        assert "expired" in client.get(f"/s/{expired}/{PAGE}").text


def test_a_ticket_for_a_collection_shows_no_other(guarded: RunningViewer) -> None:
    ticket = KEY.issue("other", time.time(), 3600)
    with guarded.client() as client:
        assert client.get(f"/s/{ticket}/{PAGE}").status_code == 403
        assert client.get(f"/s/{ticket}/w/2026id_/http://example.org/page").content == b"other"
        for path in ("c/news/", "c/news/url?url=http://example.org/page", "c/news/picture?file=x&offset=1"):
            assert client.get(f"/s/{ticket}/{path}").status_code == 403, path
        assert client.get(f"/s/{ticket}/c/news/play?url=http://example.org/page").status_code == 403
        start = client.get(f"/s/{ticket}/").text
        assert "/c/other/" in start
        assert "news" not in start
        everything = KEY.issue(None, time.time(), 3600)
        assert client.get(f"/s/{everything}/{PAGE}").content == b"news"


def test_a_host_name_of_a_collection_answers_for_that_collection_alone(filled: Settings) -> None:
    with running_viewer(filled) as running, running.client() as client:
        here = {"Host": f"news.localhost:{running.port}"}
        assert client.get(f"/{PAGE}", headers=here).content == b"news"
        for path in ("w/other/2026id_/http://example.org/page", "w/2026id_/http://example.org/page"):
            assert client.get(f"/{path}", headers=here).status_code == 403, path
        for path in ("/", "/c/news/", "/c/other/", "/c/news/url?url=x.test", "/s/x/"):
            assert client.get(path, headers=here).status_code == 404, path
        assert client.get("/c/other/player?url=http://example.org/page", headers=here).status_code == 403
        opened = {**here, "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"}
        assert client.get("/c/news/player?url=http://example.org/page", headers=opened).status_code == 403
        for path in ("/replay/", "/replay/sw.js", "/c/news/player?url=http://example.org/page"):
            assert client.get(path).status_code == 404, "the viewer's own host name runs no archived page"


def test_no_archived_script_becomes_a_service_worker(filled: Settings) -> None:
    with running_viewer(filled) as running, running.client() as client:
        for host in ("127.0.0.1", "news.localhost", "view.news.localhost"):
            here = {"Host": f"{host}:{running.port}"}
            for marks in ({"Service-Worker": "script"}, {"Sec-Fetch-Dest": "serviceworker"}):
                for path in (f"/{PAGE}", "/player/sw.js", "/static/play.js", "/replay/ui.js"):
                    assert client.get(path, headers={**here, **marks}).status_code == 403, (host, path)


def test_a_ticket_for_all_collections_is_narrowed_for_the_frame(filled: Settings) -> None:
    gate = Gatekeeper(filled, KEY)
    root = gate.root_of_frame(f"/s/{KEY.issue(None, time.time(), 3600)}", "news")
    ticket = KEY.read(root.removeprefix("/s/"), time.time())
    assert ticket is not None
    assert ticket.collection == "news"


def test_the_frame_of_a_viewer_with_a_password_has_a_ticket_instead(filled: Settings) -> None:
    gate = Gatekeeper(with_settings(filled, password="secret"), None)
    root = gate.root_of_frame("", "news")
    here = [(b"host", b"news.localhost:8082")]
    for path, is_admitted in ((f"{root}/{PAGE}", True), (f"/{PAGE}", False)):
        found = gate.look("GET", path, "127.0.0.1", "127.0.0.1", here)
        assert isinstance(found, RefusedRequest) is not is_admitted, path
    own = gate.look("GET", f"{root}/{PAGE}", "127.0.0.1", "127.0.0.1", [(b"host", b"127.0.0.1:8082")])
    assert isinstance(own, RefusedRequest)
    assert own.status == 401


def test_a_redirect_stays_below_its_ticket(filled: Settings) -> None:
    shelf = CollectionShelf(filled)
    shelf.put("/old", b"", "Location: /page", status="302 Found")
    shelf.close()
    ticket = KEY.issue(NAME, time.time(), 3600)
    with running_viewer(filled, KEY) as running, running.client() as client:
        found = client.get(f"/s/{ticket}/w/news/2026id_/http://example.org/old")
        assert found.headers["Location"] == f"/s/{ticket}/{PAGE}"


def test_one_collection_can_be_chosen_at_the_start(filled: Settings) -> None:
    with running_viewer(filled, only="other") as running, running.client() as client:
        assert client.get(f"/{PAGE}").status_code == 403
        assert client.get("/c/other/").status_code == 200


def test_another_site_gets_nothing_but_a_link(filled: Settings) -> None:
    with running_viewer(filled) as running, running.client() as client:
        for site in ("cross-site", "same-site"):
            fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
            framed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
            linked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
            assert client.get(f"/{PAGE}", headers=fetched).status_code == 403
            assert client.get("/", headers=framed).status_code == 403
            assert client.get("/", headers=linked).status_code == 200
            assert client.post("/", headers=linked).status_code == 403


def test_a_foreign_name_in_the_host_header_is_refused(filled: Settings) -> None:
    with running_viewer(filled) as running, running.client() as client:
        assert client.get("/", headers={"Host": "evil.test"}).status_code == 421
        assert client.get("/", headers={"Host": f"localhost:{running.port}"}).status_code == 200


def test_a_request_with_two_lengths_is_refused_and_nothing_behind_it_is_answered(filled: Settings) -> None:
    hidden = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    framing = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with running_viewer(filled) as running, socket.create_connection(("127.0.0.1", running.port), 30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + framing + hidden)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_password_is_asked_for_when_there_is_one(filled: Settings) -> None:
    with running_viewer(with_settings(filled, password="open: ä")) as running, running.client() as client:
        refused = client.get("/")
        assert (refused.status_code, refused.headers["WWW-Authenticate"][:5]) == (401, "Basic")
        assert client.get("/", auth=("anyone", "wrong")).status_code == 401
        for header in ("Basic", "Basic !", "Bearer x", "Basic " + "A" * 5):
            assert client.get("/", headers={"Authorization": header}).status_code == 401
        assert client.get(f"/{PAGE}", auth=("anyone", "open: ä")).content == b"news"


def test_only_allowed_networks_reach_a_viewer(settings: Settings) -> None:
    gate = Gatekeeper(with_settings(settings, allow_clients=("10.20.0.0/16",)), None)
    refused = gate.look("GET", "/", "10.30.0.1", "10.20.0.1", [])
    assert isinstance(refused, RefusedRequest)
    assert refused.status == 403
    for peer in ("10.20.3.4", "127.0.0.1"):
        assert not isinstance(gate.look("GET", "/", peer, "10.20.0.1", []), RefusedRequest)


@pytest.mark.parametrize(
    ("view", "is_refused"),
    [
        ({"host": "0.0.0.0"}, True),
        ({"host": "0.0.0.0", "password": "x"}, False),
        ({"host": "0.0.0.0", "allow_clients": "10.0.0.0/8"}, False),
        ({"host": "127.0.0.1"}, False),
    ],
)
def test_a_network_needs_a_password_or_a_list_of_clients(view: dict[str, str], is_refused: bool) -> None:
    chosen = load({f"view.{name}": value for name, value in view.items()}, environment={})
    assert bool(view_exposure(chosen)) is is_refused
