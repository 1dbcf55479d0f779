"""A collection is replayed while it is being written: what is shown is whole, and the file goes on to grow."""

from __future__ import annotations

from pathlib import Path

from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, credentials

BODIES = [page(b"page %d" % number, 50_000) for number in range(3)]


def test_pages_of_a_file_that_is_being_written_are_replayed_whole(tmp_path: Path) -> None:
    with RawOrigin("127.0.1.84") as origin, RunningProxy(tmp_path / "home", {"admin.cdx_port": 0}) as proxy:
        origin.otherwise(lambda asked: (Send(response(BODIES[int(asked.split(b" ")[1][1:])])),))
        session = proxy.control("POST", "/sessions", {"collection": "default", "mode": "replay"})
        shown = credentials(session)
        for number, body in enumerate(BODIES):
            url = origin.url(f"/{number}")
            assert proxy.get(url).status == 200

            until(lambda url=url: proxy.get(url, shown).status == 200, what=f"{url} to be in the index")
            assert proxy.get(url, shown).body == body
            assert [path.suffix for path in proxy.folder().iterdir()] == [".open"]

        asked = len(origin.visits)
        assert [proxy.get(origin.url(f"/{number}"), shown).body for number in range(3)] == BODIES
        assert len(origin.visits) == asked == 3
        proxy.stop()
        assert len(proxy.records().kinds("response")) == 3
