"""An archive that there is already is not stored again: our own CDX server is asked, and pywb's as anybody runs it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.archive.pywb_server import PywbServer
from support.archive.warc_reader import Stored, files
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, Step, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, credentials

from archive.warc import cdxj

ADDRESS = "127.0.1.97"
ODD = "/odd?url=http%3A%2F%2Fother.example%2F%3Fa&b=%26%20%ff;c=*"
STAYING = ("/same", ODD)
CHANGED = "/changed"


class Site:
    """Pages that stay as they are, and one that does not."""

    def __init__(self, origin: RawOrigin) -> None:
        self.origin = origin
        self.version = b"old"
        origin.otherwise(self._answer)

    def _answer(self, request: bytes) -> list[Step]:
        path = request.split(b" ", 2)[1]
        changing = self.version if path == CHANGED.encode() else b""
        return [Send(response(page(path + changing), b"Content-Type: text/plain"))]


@dataclass(frozen=True)
class Elsewhere:
    """An archive of the site that was made earlier, and the address of its CDX server."""

    site: Site
    folder: Path
    cdx: str

    def record(self, path: str) -> Stored:
        """The one response there."""
        (record,) = RunningProxy(self.folder).records(growing=True).of(self.site.origin.url(path), "response")
        return record


@pytest.fixture(
    scope="module", params=["ours", pytest.param("pywb", marks=[pytest.mark.slow, pytest.mark.timeout(300)])]
)
def elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    folder = tmp_path_factory.mktemp(f"elsewhere-{request.param}")
    with ExitStack() as running:
        site = Site(running.enter_context(RawOrigin(ADDRESS)))
        proxy = RunningProxy(folder / "first").start()
        for path in (*STAYING, CHANGED):
            assert proxy.get(site.origin.url(path)).whole
        site.version = b"new"
        proxy.stop()
        if request.param == "pywb":
            cdx = running.enter_context(PywbServer(folder / "pywb", files(proxy.folder()))).cdx
        else:
            running.enter_context(proxy)  # again: with the index whole from the start
            cdx = f"http://{proxy.ready['cdx']}/default/cdx"
        yield Elsewhere(site, proxy.home, cdx)


@pytest.fixture(scope="module")
def second(elsewhere: Elsewhere, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    """An archive of its own that asks the first one; it has fetched every page."""
    settings = {
        "dedup.cdx_servers": f"default={elsewhere.cdx.replace('http://', 'http://anna:secret@')}?allowFuzzy=hidden"
    }
    with RunningProxy(tmp_path_factory.mktemp("second") / "home", settings) as proxy:
        for path in (*STAYING, CHANGED):
            assert proxy.get(elsewhere.site.origin.url(path)).whole
        yield proxy


@pytest.mark.parametrize("path", STAYING)
def test_what_it_holds_is_kept_as_a_revisit(elsewhere: Elsewhere, second: RunningProxy, path: str) -> None:
    url = elsewhere.site.origin.url(path)
    (revisit,) = second.records(growing=True).of(url, "response", "revisit")
    original = elsewhere.record(path)

    assert revisit.kind == "revisit"
    assert revisit.field("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert revisit.field("WARC-Refers-To") is None
    assert revisit.field("WARC-Refers-To-Target-URI") == url
    assert revisit.field("WARC-Refers-To-Date") == (original.field("WARC-Date") or "")[:19] + "Z"
    assert revisit.field("WARC-Refers-To-Container") == elsewhere.cdx
    assert revisit.payload_digest == original.payload_digest
    assert original.block.startswith(revisit.block)


def test_what_has_changed_is_kept_whole_and_then_known(elsewhere: Elsewhere, second: RunningProxy) -> None:
    url = elsewhere.site.origin.url(CHANGED)
    (response,) = second.records(growing=True).of(url, "response", "revisit")
    assert response.kind == "response"

    elsewhere.site.origin.answer("/copy", lambda _: [Send(response.block)])
    assert second.get(elsewhere.site.origin.url("/copy")).whole
    assert second.awaited(elsewhere.site.origin.url("/copy"), "revisit").field("WARC-Refers-To") == response.id


def test_the_status_counts_and_the_log_tells_no_secret(elsewhere: Elsewhere, second: RunningProxy) -> None:
    found = second.status()

    assert (found["foreign_found"], found["foreign_unavailable_because"]) == (len(STAYING), "")
    assert "ghostfleet_foreign_found_total 2.0" in second.metrics()
    said = second.log.read_text("utf-8") + str(found) + str(second.sidecar_lines())
    assert "secret" not in said
    assert "hidden" not in said


def test_the_archive_is_in_order(elsewhere: Elsewhere, tmp_path: Path) -> None:
    """`check`, the sidecars, the index and what is made from it again, and replay that says what is missing."""
    url = elsewhere.site.origin.url("/same")
    with RunningProxy(tmp_path / "third", {"dedup.cdx_servers": f"*={elsewhere.cdx}"}) as third:
        assert third.get(url).whole
        assert third.get(url).whole
    assert [record.kind for record in third.records().of(url, "response", "revisit")] == ["revisit"] * 2
    checked = third.command("check", str(third.folder()))
    assert checked.returncode == 0, checked.stdout
    (warc,) = files(third.folder())
    (sidecar,) = (third.home / "collections" / "default" / "indexes").glob("*.cdxj")
    told = sorted(cdxj.captures_of(warc), key=str)
    assert sorted((replace(each, collection="default") for each in cdxj.read(sidecar, "default")), key=str) == told
    assert [each.refers_to.record_id for each in told if each.kind == "revisit" and each.refers_to] == ["", ""]
    again = third.command("reindex", "default")
    assert again.returncode == 0, again.stderr

    with third:
        replaying = third.control("POST", "/sessions", {"collection": "default", "mode": "replay"})
        answer = third.get(url, credentials(replaying))
        assert (answer.status, answer.header("Ghostfleet-Error")) == (404, "0 elsewhere")
        assert f"in the archive of {elsewhere.cdx}" in answer.body.decode()
        patching = third.control("POST", "/sessions", {"collection": "default", "mode": "patch"})
        assert third.get(url, credentials(patching)).body == page(b"/same")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_pywb_resolves_it_where_it_has_both_archives(elsewhere: Elsewhere, tmp_path: Path) -> None:
    url = elsewhere.site.origin.url("/same")
    with RunningProxy(tmp_path / "third", {"dedup.cdx_servers": f"*={elsewhere.cdx}"}) as third:
        assert third.get(url).whole
    (line,) = (line for line in third.sidecar_lines() if line["mime"] == "warc/revisit")
    both = [*files(third.folder()), *files(RunningProxy(elsewhere.folder).folder())]

    with PywbServer(tmp_path / "pywb", [path for path in both if path.suffix == ".gz"]) as pywb:
        reply = pywb.replay(url, line["timestamp"])
    assert (reply.status, reply.body) == (200, page(b"/same"))


def test_files_of_the_other_archive_that_are_added_resolve_it(elsewhere: Elsewhere, tmp_path: Path) -> None:
    url = elsewhere.site.origin.url("/same")
    with RunningProxy(tmp_path / "third", {"dedup.cdx_servers": f"*={elsewhere.cdx}"}) as third:
        assert third.get(url).whole
    for path in files(RunningProxy(elsewhere.folder).folder()):
        shutil.copy(path, third.folder() / path.name.removesuffix(".open"))
    assert third.command("reindex", "default").returncode == 0

    with third:
        replaying = third.control("POST", "/sessions", {"collection": "default", "mode": "replay"})
        answer = until(
            lambda: found if (found := third.get(url, credentials(replaying))).status == 200 else None, what="a replay"
        )
        assert answer.body == page(b"/same")
