"""admin/viewing/links.py: the links of the admin site to the viewer, and where they lead."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.archive.browsed_collection import NAME, PAGE, fill
from support.browsers.running_viewer import RunningViewer, running_viewer
from support.web.site_server import running_site

from admin.fleet.installation_file import InstallationFile
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.viewing.links import collection_link, page_link, viewer_origin
from admin.viewing.player import installed_folder
from admin.viewing.tickets import ticket_key
from archive.settings.load import Settings


@pytest.fixture
def viewer(settings: Settings) -> Iterator[RunningViewer]:
    """A viewer as `ghostfleet up` runs it beside the site."""
    fill(settings)
    with running_viewer(settings, ticket_key(settings.home)) as running, InstallationFile(settings.home) as file:
        file.write({"view": f"127.0.0.1:{running.port}"}, ())
        yield running


def with_origin(settings: Settings, origin: str) -> Settings:
    return settings.model_copy(update={"view": settings.view.model_copy(update={"origin": origin})})


def test_the_viewer_has_another_host_name_than_the_site(settings: Settings, viewer: RunningViewer) -> None:
    assert viewer_origin(settings, "127.0.0.1:8080") == f"http://localhost:{viewer.port}"
    assert viewer_origin(settings, "localhost:8080") == f"http://127.0.0.1:{viewer.port}"
    assert viewer_origin(settings, "[::1]:8080") == f"http://localhost:{viewer.port}"
    assert viewer_origin(settings, "admin.example.org") == ""
    chosen = with_origin(settings, "https://replay.example.org")
    assert viewer_origin(chosen, "admin.example.org") == "https://replay.example.org"
    assert viewer_origin(chosen, "replay.example.org:8080") == ""


def test_without_a_viewer_there_is_no_link(settings: Settings) -> None:
    assert collection_link(settings, "127.0.0.1:8080", NAME) == ""
    with InstallationFile(settings.home) as file:
        file.write({"view": "10.0.0.1:8082"}, ())
        assert viewer_origin(settings, "10.0.0.1:8080") == ""
        assert viewer_origin(settings, "10.0.0.2:8080") == "http://10.0.0.1:8082"


def test_only_pages_of_the_web_are_linked(settings: Settings, viewer: RunningViewer) -> None:
    assert page_link(settings, "127.0.0.1", NAME, "urn:view:http://example.org/", "2026") == ""
    assert page_link(settings, "127.0.0.1", NAME, "javascript:alert(1)", "2026") == ""


def test_a_link_of_the_site_opens_its_collection_without_the_sites_cookies(
    settings: Settings, viewer: RunningViewer, sqlite_database: Database
) -> None:
    with running_site(sqlite_database, settings.home) as site, site.client(Role.READER) as reader:
        collection = _link(reader.get(f"/collections/{NAME}").text)
        listed = reader.get(f"/api/v1/collections/{NAME}/captures", params={"url": PAGE, "kind": "response"}).json()
        place = {"file": listed["items"][0]["file"], "offset": listed["items"][0]["offset"]}
        page = _link(reader.get(f"/collections/{NAME}/capture", params=place).text)
    for link in (collection, page):
        assert link.startswith(f"http://localhost:{viewer.port}/s/")
        found = httpx.get(link.replace("localhost", "127.0.0.1"), headers={"Host": f"localhost:{viewer.port}"})
        assert found.status_code == 200
        assert "Set-Cookie" not in found.headers
        assert f"/c/{NAME}/" in found.text
    with viewer.client() as client:
        assert client.get("/").status_code == 403


def test_a_person_who_may_operate_fetches_the_player_by_a_button(
    settings: Settings,
    viewer: RunningViewer,
    sqlite_database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # there is no npm
    with running_site(sqlite_database, settings.home) as site:
        with site.client(Role.READER) as reader:
            shown = reader.get(f"/collections/{NAME}").text
            assert "until its player is fetched" in shown
            assert f"/collections/{NAME}/player" not in shown
        with site.client(Role.OPERATOR) as operator:
            shown = operator.get(f"/collections/{NAME}").text
            token = re.search(r'name="csrf_token" value="([^"]+)"', shown)
            assert token is not None
            failed = operator.post(f"/collections/{NAME}/player", data={"csrf_token": token[1]})
            assert failed.status_code == 409
            assert "npm is not installed" in failed.text
            folder = installed_folder(settings)
            folder.mkdir(parents=True)
            for name in ("ui.js", "sw.js", "LICENSE"):
                (folder / name).write_text(name)
            assert "until its player is fetched" not in operator.get(f"/collections/{NAME}").text


def _link(text: str) -> str:
    """The link of a page to the viewer, which opens in a window that knows nothing of the site."""
    found = re.search(r'href="([^"]+/s/[^"]+)" target="_blank" rel="noopener noreferrer"', text)
    assert found is not None
    return html.unescape(found[1])
