"""pywb, with its own indexer and its own server, finds in our WARC files what our index finds, and the same bytes.

It is installed from PyPI into an environment of its own, as `ghostfleet bench` does it, and only run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.archive.pywb_server import PywbServer
from support.archive.warc_reader import files
from support.origins.odd_responses import HEALTHY, RESPONSES, page
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.proxy.running_proxy import Route, RunningProxy, request

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # pywb may have to be installed first

ADDRESS, HOST, BARE_HOST = "127.0.1.84", "www.garden.test", "api.garden.test"
JSON = "application/json"
FORMS = {b'{"q": "Moss", "n": [1, 2]}': page(b"moss"), b'{"q": "Fern"}': page(b"fern")}
ROUTES: tuple[Route, Route] = ("plain", "connect")
COMPARED = ("timestamp", "url", "mime", "status", "digest", "length", "offset", "filename")
INDEX_DIFFERS = {
    "leading-line-ends": {"mime": "pywb takes empty lines before the status line for the whole head"},
    "status-099": {"status": "pywb keeps the leading zero"},
    "status-without-space-behind": {"status": "pywb takes '200OK' for a status"},
    "tabs-in-the-status-line": {"status": "pywb parts words by spaces only"},
}
REPLAY_DIFFERS = {"trailers": "pywb 2.10 takes what follows the last chunk for content"}


@dataclass(frozen=True)
class Stage:
    proxy: RunningProxy
    pywb: PywbServer
    origins: dict[Route, RawOrigin]

    def url(self, route: Route, path: str) -> str:
        return f"{'http' if route == 'plain' else 'https'}://{HOST}:{self.origins[route].port}{path}"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Every odd response by two routes; one body under three URLs, and one of them again; a form sent by POST."""
    folder = tmp_path_factory.mktemp("pywb")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    settings = {"proxy.upstream_ca": folder / "ca.pem", "proxy.resolve": f"{HOST}={ADDRESS},{BARE_HOST}={ADDRESS}"}
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, HOST)) as secure,
        RunningProxy(folder / "home", settings) as proxy,
    ):
        origins: dict[Route, RawOrigin] = {"plain": plain, "connect": secure}
        for route, origin in origins.items():
            base = f"{'http' if route == 'plain' else 'https'}://{HOST}:{origin.port}"
            for odd in RESPONSES:
                origin.script(f"/{odd.name}", *odd.steps(f"{odd.name}:{route}".encode()))
                assert proxy.get(f"{base}/{odd.name}", route=route, method=odd.method).status == odd.status
            for number in (1, 2, 3, 1):
                origin.script(f"/same/{number}", Send(response(page(b"same"))))
                assert proxy.get(f"{base}/same/{number}", route=route).whole
        plain.script("/form?q=1", Send(response(page(b"thanks"))))
        proxy.exchange(request("plain", f"http://{HOST}:{plain.port}/form?q=1", method="POST", body=b"a=1&b=2"))
        for body, answer in FORMS.items():
            plain.script("/api?v=1", Send(response(answer)))
            for method in ("POST", "PUT"):
                url = f"http://{BARE_HOST}:{plain.port}/api?v=1"
                proxy.exchange(request("plain", url, f"Content-Type: {JSON}", method=method, body=body))
        proxy.stop()
        with PywbServer(folder / "pywb", files(proxy.folder())) as pywb:
            yield Stage(proxy, pywb, origins)


def test_its_index_is_ours(stage: Stage) -> None:
    """Places, digests, times, types and statuses alike; each difference is one of those named.

    Of a revisit pywb keeps no status, although the record has the head with it.
    """
    theirs = {(line["filename"], line["offset"]): line for line in stage.pywb.index()}
    ours = {
        (line["filename"], line["offset"]): line
        for line in stage.proxy.sidecar_lines()
        if line["url"].startswith("http") and line.get("kind") is None
    }

    assert {place: theirs[place] for place in theirs if theirs[place]["url"].startswith("http")}.keys() == ours.keys()
    unnamed = []
    for place, line in ours.items():
        name = line["url"].rpartition("/")[2]
        different = {field for field in COMPARED if line.get(field, "-") != theirs[place].get(field, "-")}
        named = {"status"} if line["mime"] == "warc/revisit" else INDEX_DIFFERS.get(name, {}).keys()
        if not different <= named:
            unnamed.append((name, {field: (line.get(field), theirs[place].get(field)) for field in different}))
    assert unnamed == []


def test_its_keys_are_ours_but_for_www(stage: Stage) -> None:
    """Ours keep "www.", since a proxy's replay tells such hosts apart. Methods and bodies are in both alike."""
    ours = {(line["filename"], line["offset"]): line for line in stage.proxy.sidecar_lines()}
    methods = set()
    for line in stage.pywb.index():
        if line["url"].startswith("http"):
            mine = ours[line["filename"], line["offset"]]
            host = f"test,garden,{'www' if HOST in line['url'] else 'api'}"
            assert mine["urlkey"] == f"{host}:{line['urlkey'].partition(':')[2]}"
            assert mine.get("requestBody", "") == line.get("requestBody", "")
            methods.add(mine.get("method", "GET"))
    assert methods >= {"GET", "POST", "PUT"}


def test_its_server_tells_bodies_apart_by_our_index(stage: Stage, tmp_path: Path) -> None:
    """pywb serves copies of our WARC files by copies of our sidecars, and never indexes them itself."""
    indexes = sorted((stage.proxy.folder().parent / "indexes").glob("*.cdxj"))
    with PywbServer(tmp_path / "pywb", files(stage.proxy.folder()), indexes) as pywb:
        for body, answer in FORMS.items():
            reply = pywb.post(f"http://{BARE_HOST}:{stage.origins['plain'].port}/api?v=1", JSON, body)
            assert (reply.status, reply.body) == (200, answer)


@pytest.mark.parametrize("route", ROUTES)
def test_its_server_gives_the_origins_bytes(stage: Stage, route: Route) -> None:
    stamps = {line["url"]: line["timestamp"] for line in stage.proxy.sidecar_lines()}
    wrong = []
    for odd in HEALTHY:
        url = stage.url(route, f"/{odd.name}")
        reply = stage.pywb.replay(url, stamps[url])
        if (reply.status, reply.body) != (odd.status, odd.payload(f"{odd.name}:{route}".encode())):
            wrong.append(odd.name)

    assert wrong == list(REPLAY_DIFFERS)


@pytest.mark.parametrize("route", ROUTES)
def test_its_server_resolves_our_revisits(stage: Stage, route: Route) -> None:
    revisits = [line for line in stage.proxy.sidecar_lines() if line["mime"] == "warc/revisit"]
    mine = [line for line in revisits if line["url"].startswith(stage.url(route, "/same/"))]

    assert len(mine) == (3 if route == "plain" else 4)
    for line in mine:
        reply = stage.pywb.replay(line["url"], line["timestamp"])
        assert (reply.status, reply.body) == (200, page(b"same"))
