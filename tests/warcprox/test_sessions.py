"""Sessions with a policy of their own: made, changed, watched and closed on the control port."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.clients.brozzler_client import told
from support.origins.raw_origin import Send, response
from support.processes.machine_needs import free_port
from support.proxy.running_proxy import RunningProxy, credentials, request
from support.proxy.warcprox_stage import Stage

from archive import crawl_log

SECRET = b"hunter2-very-secret"


def session(stage: Stage, **fields: Any) -> dict[str, Any]:
    """A session on the main port."""
    return stage.proxy.control("POST", "/sessions", {"collection": "default", **fields})


class TestPolicy:
    def test_holds_for_clients_that_say_nothing(self, stage: Stage) -> None:
        mine = session(
            stage,
            prefix="own",
            blocks=[{"substring": "forbidden"}],
            stats={"buckets": ["own"]},
            limits={"own/total/urls": 2},
        )
        codes = [
            stage.proxy.get(stage.url(f"/s/{name}"), credentials(mine)).status
            for name in ("one", "forbidden", "two", "three")
        ]

        report = stage.proxy.control("GET", f"/sessions/{mine['id']}")
        assert codes == [200, 403, 200, 420]
        assert (report["urls"], report["novel"], report["failed"]) == (4, 2, 2)
        assert report["errors"] == {str(crawl_log.BLOCKED_BY_RULE): 1, str(crawl_log.QUOTA): 1}
        assert stage.proxy.awaited(stage.url("/s/one"), "response").path.name.startswith("own-")

    def test_goes_together_with_what_a_request_says(self, stage: Stage) -> None:
        mine = session(stage, blocks=[{"substring": "by-session"}])
        meta = "Warcprox-Meta: " + json.dumps({"blocks": [{"substring": "by-request"}]})

        codes = [
            stage.proxy.get(stage.url(f"/t/{name}"), credentials(mine), meta).status
            for name in ("by-session", "by-request", "by-none")
        ]
        assert codes == [403, 403, 200]

    def test_of_a_page_can_not_be_lifted_by_the_page(self, stage: Stage) -> None:
        mine = session(stage, listen=True, blocks=[{"substring": "forbidden"}])
        ready = stage.proxy.ready
        stage.proxy.ready = {**ready, "proxy": f"{mine['host']}:{mine['port']}"}
        try:
            answer = stage.client.get(stage.url("/u/forbidden"), {"blocks": []})
        finally:
            stage.proxy.ready = ready

        assert (answer.status_code, told(answer)) == (403, {"blocked-by-rule": {"substring": "forbidden"}})

    def test_can_be_changed_while_it_goes_on(self, stage: Stage) -> None:
        mine = session(stage, job="before", blocks=[{"substring": "changes"}])
        first = stage.proxy.get(stage.url("/v/changes"), credentials(mine))

        stage.proxy.control("PATCH", f"/sessions/{mine['id']}", {"blocks": None, "prefix": "changed"})
        second = stage.proxy.get(stage.url("/v/changes"), credentials(mine))

        assert (first.status, second.status) == (403, 200)
        record = stage.proxy.awaited(stage.url("/v/changes"), "response")
        assert record.path.name.startswith("changed-")
        assert record.field("WARC-Job-ID") == "before"

    @pytest.mark.parametrize(
        "changes", [{"collection": "other"}, {"mode": "replay"}, {"listen": True}, {"limits": {"x": 1}}, {"nme": "x"}]
    )
    def test_changes_that_can_not_be_made_are_refused_by_name(self, stage: Stage, changes: dict[str, Any]) -> None:
        mine = session(stage)

        with pytest.raises(AssertionError, match=f" 400 .*{next(iter(changes))}"):
            stage.proxy.control("PATCH", f"/sessions/{mine['id']}", changes)


def test_ports_come_from_the_range_and_run_out(tmp_path: Path) -> None:
    port = free_port()
    with RunningProxy(tmp_path / "home", {"proxy.session_ports": f"{port}-{port}"}) as proxy:
        mine = proxy.control("POST", "/sessions", {"collection": "default", "listen": True})

        assert mine["port"] == port
        with pytest.raises(AssertionError, match="no port is free"):
            proxy.control("POST", "/sessions", {"collection": "default", "listen": True})
        assert list(proxy.control("GET", "/sessions")) == [mine["id"]]


class TestRedaction:
    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("application/x-www-form-urlencoded", b"user=me&pass%77ord=" + SECRET + b"&go=1"),
            (
                "multipart/form-data; boundary=xx",
                b'--xx\r\nContent-Disposition: form-data; name="password"\r\n\r\n' + SECRET + b"\r\n--xx--\r\n",
            ),
            ("application/json", b'{"deep": [{"password": "' + SECRET + b'"}]}'),
            ("application/octet-stream", b"\x00" + SECRET),
        ],
    )
    def test_keeps_a_form_field_out_of_the_archive_and_sends_it(self, stage: Stage, kind: str, body: bytes) -> None:
        path = f"/login/{kind.partition(';')[0].rpartition('/')[2]}"
        mine = session(stage, redact_fields=["password"])

        asked = request("plain", stage.url(path), credentials(mine), f"Content-Type: {kind}", method="POST", body=body)
        assert stage.proxy.exchange(asked).status == 200

        assert stage.plain.received(path).endswith(body)
        (record,) = stage.proxy.records(growing=True).of(stage.url(path), "request")
        head, _, kept = record.block.partition(b"\r\n\r\n")
        assert SECRET not in record.block
        assert b"Content-Length: %d" % len(kept) in head.split(b"\r\n")
        assert record.field("WARC-Redacted") in ("field password", "body")

    def test_keeps_headers_and_queries_out_of_every_file(self, stage: Stage) -> None:
        mine = session(stage, redact_headers=["Authorization", "cookie"], redact_fields=["token"])
        secret = SECRET.decode()
        headers = (
            f"Authorization: Bearer {secret}",
            f"Cookie: sid={secret}",
            f"Referer: http://a.localhost/?token={secret}",
        )
        stage.plain.script(f"/get/x?token={secret}&a=1", Send(response(b"for headers and queries")))
        url = stage.url(f"/get/x?token={secret}&a=1")

        assert stage.proxy.get(url, credentials(mine), *headers).status == 200

        assert stage.plain.received(f"/get/x?token={secret}&a=1").count(SECRET) == 4
        shown = stage.url("/get/x?token=redacted&a=1")
        record = stage.proxy.awaited(shown, "request")
        assert b"\r\nAuthorization: redacted\r\nCookie: redacted\r\n" in record.block
        missing = record.field("WARC-Redacted") or ""
        assert missing == "query; header authorization; header cookie; query of referer"
        assert all(SECRET not in each.block for each in stage.proxy.records(growing=True).records)
        assert all(secret not in each.url for each in stage.proxy.records(growing=True).records)
        assert secret not in json.dumps(stage.proxy.sidecar_lines())
        assert secret not in stage.proxy.log.read_text()
