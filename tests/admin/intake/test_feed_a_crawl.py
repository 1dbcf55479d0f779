"""A crawl of a real site is fed while it runs: by messages, and by a client of URLFrontier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from kombu import Connection, Producer
from support.origins.chain_site import ChainSite
from support.processes.command_lines import runner
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.stores.redis_server import RedisServer

from admin.url_frontier import urlfrontier_pb2 as messages

FLAGS = ("--collection", "garden", "--job", "spring", "--allow-private", "--delay", "0", "--robots", "ignore")


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(3) as started:
        yield started


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    with RedisServer(tmp_path) as server:
        yield server.url.replace("unix://", "redis+socket://")


def test_a_running_crawl_is_fed_and_both_doors_end_with_it(home: Path, site: ChainSite, broker: str) -> None:
    site.hold("/")
    intake = ("intake", "amqp", "--job", "spring", "--url", broker)
    serve = ("frontier", "serve", "--job", "spring", "--listen", "127.0.0.1:0")
    with Command("crawl", site.url, *FLAGS, "--json", "--workers", "1", home=home) as crawl:
        until(lambda: "/" in site.asked, what="the first request", within=60)
        with Command(*intake, home=home) as feed, Command(*serve, home=home) as service:
            feed.line(state="open")
            with Connection(broker) as connection:
                url = f"{site.url}from-a-message"
                Producer(connection.channel()).publish({"url": url}, exchange="", routing_key="requests")
            with grpc.insecure_channel(service.line(ready=True)["urlfrontier"]) as channel:
                put = channel.stream_stream(
                    "/urlfrontier.URLFrontier/PutURLs",
                    request_serializer=messages.URLItem.SerializeToString,
                    response_deserializer=messages.AckMessage.FromString,
                )
                info = messages.URLInfo(url=f"{site.url}from-a-crawler")
                item = messages.URLItem(discovered=messages.DiscoveredURLItem(info=info))
                assert [ack.status for ack in put(iter([item]))] == [messages.AckMessage.OK]
            until(lambda: _queued(home) >= 2, what="both URLs in the queue")

            site.let_go("/")
            crawl.ended()

            assert (feed.ended(), service.ended()) == (0, 0), feed.stderr + service.stderr
            assert feed.line(state="ended")["added"] == 1
            assert "job spring" in service.line(state="ended")["reason"]
    assert {"/from-a-message", "/from-a-crawler"} <= set(site.asked)


def _queued(home: Path) -> int:
    return int(runner(home, "")("job", "status", "spring", "--json").json["queued"])
