"""What is archived and what is not: prefixes, filters, methods; and what a client hears of its capture."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from support.archive.warc_reader import Archive, files
from support.clients.brozzler_client import told
from support.origins.raw_origin import Send, response
from support.processes.waiting import until
from support.proxy.warcprox_stage import Stage


@pytest.mark.parametrize("secure", [False, True])
def test_captured_is_what_is_played_back(stage: Stage, secure: bool) -> None:
    replaying = stage.proxy.control("POST", "/sessions", {"collection": "default", "mode": "replay", "listen": True})
    url = stage.url(f"/play/back{secure}", secure=secure)
    origin = stage.secure if secure else stage.plain

    def replayed() -> Any:
        return _through(stage, replaying, url)

    assert replayed().status_code == 404
    live = stage.client.get(url)
    played = until(lambda: (answer := replayed()).status_code == 200 and answer, what="the index to know it")

    assert live.status_code == 200
    assert (played.content, played.headers["X-Tells"]) == (live.content, live.headers["X-Tells"])
    assert len(origin.asked(f"/play/back{secure}")) == 1


def _through(stage: Stage, session: dict[str, Any], url: str) -> Any:
    ready = stage.proxy.ready
    stage.proxy.ready = {**ready, "proxy": f"{session['host']}:{session['port']}"}
    try:
        return stage.client.get(url)
    finally:
        stage.proxy.ready = ready


class TestCaptureMetadata:
    def test_tells_the_time_in_whole_seconds(self, stage: Stage) -> None:
        answer = stage.client.get(stage.url("/meta/time"), {"accept": ["capture-metadata"]})

        assert list(told(answer)) == ["capture-metadata"]
        assert list(told(answer)["capture-metadata"]) == ["timestamp"]
        stamp = datetime.strptime(told(answer)["capture-metadata"]["timestamp"], "%Y-%m-%dT%H:%M:%SZ")
        (record,) = stage.proxy.records(growing=True).of(stage.url("/meta/time"), "response")
        assert (record.field("WARC-Date") or "").startswith(stamp.replace(tzinfo=UTC).isoformat()[:19])

    def test_tells_the_record_when_asked_for_it(self, stage: Stage) -> None:
        accept = {"accept": ["capture-metadata", "capture-record"]}
        first = told(stage.client.get(stage.url("/first/told"), accept))["capture-metadata"]
        second = told(stage.client.get(stage.url("/second/told"), accept))["capture-metadata"]

        records = {record.id: record for record in stage.proxy.records(growing=True).records}
        assert (first["revisit"], second["revisit"]) == (False, True)
        assert records[f"<{first['record-id']}>"].url == stage.url("/first/told")
        found = records[f"<{second['record-id']}>"]
        assert (found.kind, found.offset) == ("revisit", second["offset"])
        assert found.path.name.removesuffix(".open") == second["filename"]

    def test_of_a_large_response_is_told_without_waiting_for_its_end(self, stage: Stage) -> None:
        body = b"x" * 150_000
        stage.plain.script("/large/told", Send(response(body)))

        answer = stage.client.get(stage.url("/large/told"), {"accept": ["capture-record"]})

        assert answer.content == body
        assert "timestamp" in told(answer)["capture-metadata"]

    def test_is_told_of_written_records(self, stage: Stage) -> None:
        status, _, meta = stage.client.write_record("thumbnail:http://x/", b"pic", {"accept": ["capture-record"]})

        assert status == 204
        record = stage.proxy.awaited("thumbnail:http://x/", "resource")
        assert record.id == f"<{meta['capture-metadata']['record-id']}>"

    def test_can_not_be_forged_by_an_origin(self, stage: Stage) -> None:
        stage.plain.script("/forged", Send(response(b"x", b'Warcprox-Meta: {"blocked-by-rule": {}}')))

        assert told(stage.client.get(stage.url("/forged"))) == {}


class TestPrefix:
    @pytest.mark.parametrize("prefix", ["slash/inside", "back\\slash", "../up", "", 5])
    def test_that_could_leave_the_folder_is_refused(self, stage: Stage, prefix: object) -> None:
        answer = stage.client.get(stage.url("/never/there"), {"warc-prefix": prefix})

        assert answer.status_code == 400
        assert "warc-prefix" in answer.text

    def test_names_the_file(self, stage: Stage) -> None:
        assert stage.client.get(stage.url("/p/named"), {"warc-prefix": "a-job.2"}).status_code == 200

        (record,) = stage.proxy.records(growing=True).of(stage.url("/p/named"), "response")
        assert record.path.name.startswith("a-job.2-")
        assert record.path.name.endswith(".warc.gz.open")

    def test_that_is_a_dash_archives_nothing(self, stage: Stage) -> None:
        before = stage.proxy.status()["urls_processed"]
        assert stage.client.get(stage.url("/p/dash"), {"warc-prefix": "-"}).status_code == 200
        assert stage.client.write_record("note:dash", b"x", {"warc-prefix": "-"})[0] == 204

        assert stage.proxy.status()["urls_processed"] == before + 2
        archive = stage.proxy.records(growing=True)
        assert archive.of(stage.url("/p/dash")) == archive.of("note:dash") == []

    def test_of_a_session_is_closed_alone(self, stage: Stage) -> None:
        for prefix in ("closed", "stays"):
            assert stage.client.get(stage.url(f"/c/{prefix}"), {"warc-prefix": prefix}).status_code == 200
        session = stage.proxy.control("POST", "/sessions", {"collection": "default", "prefix": "closed"})
        stage.proxy.control("DELETE", f"/sessions/{session['id']}?finish=1")
        assert stage.client.get(stage.url("/c/again"), {"warc-prefix": "closed"}).status_code == 200

        names = [path.name for path in files(stage.proxy.folder())]
        assert len([name for name in names if name.startswith("closed-") and name.endswith(".gz")]) == 1
        reopened = [name for name in names if name.startswith("closed-") and name.endswith(".open")]
        assert len(reopened) == 1
        assert "-00000-" in reopened[0]
        assert next(name for name in names if name.startswith("stays-")).endswith(".open")


class TestFilters:
    @pytest.mark.parametrize(
        ("kind", "pattern", "content_type", "is_kept"),
        [
            ("REJECT", "text/.*", b"text/plain", False),
            ("REJECT", "image/.*", b"text/plain", True),
            ("REJECT", "image/.*", b"", True),
            ("LIMIT", "text/.*", b"text/plain; charset=x", True),
            ("LIMIT", "image/.*", b"text/plain", False),
            ("LIMIT", "image/.*", b"", False),
        ],
    )
    def test_suppress_archiving_while_the_client_is_served(
        self, stage: Stage, kind: str, pattern: str, content_type: bytes, is_kept: bool
    ) -> None:
        path = f"/filter/{kind}{pattern[:5]}{content_type.decode()[:4]}".replace("/.", "")
        headers = (b"Content-Type: " + content_type,) if content_type else ()
        stage.plain.script(path, Send(response(path.encode(), *headers)))

        answer = stage.client.get(stage.url(path), {"mime-type-filters": [{"type": kind, "regex": pattern}]})

        assert (answer.status_code, answer.content) == (200, path.encode())
        assert bool(stage.proxy.records(growing=True).of(stage.url(path))) is is_kept

    def test_that_make_no_sense_are_refused_by_name(self, stage: Stage) -> None:
        answer = stage.client.get(stage.url("/x/y"), {"mime-type-filters": [{"type": "KEEP", "regex": "x"}]})

        assert answer.status_code == 400
        assert "KEEP" in answer.text


def test_a_method_outside_the_list_is_served_and_not_archived(stage: Stage) -> None:
    answer = stage.client.get(stage.url("/method/head"), method="HEAD")
    written = stage.client.write_record("special:method", b"kept all the same")

    assert (answer.status_code, answer.headers["X-Tells"], written[0]) == (200, "method", 204)
    assert stage.proxy.awaited("special:method", "resource").block == b"kept all the same"
    assert stage.proxy.records(growing=True).of(stage.url("/method/head")) == []


def test_dedup_can_be_declined(stage: Stage) -> None:
    meta = {"dedup-ok": False}
    assert stage.client.get(stage.url("/first/declined"), meta).status_code == 200
    assert stage.client.get(stage.url("/second/declined")).status_code == 200

    archive: Archive = stage.proxy.records(growing=True)
    kinds = [archive.of(stage.url(f"/{name}/declined"))[0].kind for name in ("first", "second")]
    assert kinds == ["response", "response"]


@pytest.mark.parametrize("secure", [False, True])
def test_a_second_copy_is_a_revisit_of_the_first(stage: Stage, secure: bool) -> None:
    urls = [stage.url(f"/{name}/copy{secure}", secure=secure) for name in ("first", "second")]
    for url in urls:
        assert stage.client.get(url).status_code == 200

    archive = stage.proxy.records(growing=True)
    (first,), (second,) = archive.of(urls[0], "response"), archive.of(urls[1], "revisit")
    assert second.field("WARC-Refers-To") == first.id
    assert second.field("WARC-Refers-To-Date") == first.field("WARC-Date")
    assert second.payload_digest == first.payload_digest


def test_via_is_said_to_both_sides_and_in_no_response_record(stage: Stage) -> None:
    answer = stage.client.get(stage.url("/via/x"))

    response_record, request_record = (
        stage.proxy.records(growing=True).of(stage.url("/via/x"), kind)[0] for kind in ("response", "request")
    )
    assert answer.headers["Via"] == "1.1 ghostfleet"
    assert b"\r\nVia: 1.1 ghostfleet\r\n" in request_record.block
    assert b"Via:" not in response_record.block
