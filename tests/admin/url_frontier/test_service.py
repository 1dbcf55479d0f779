"""The interface of URLFrontier: a real client of gRPC, a real socket, a real Redis."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import grpc
import pytest
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.stores.real_frontier import PATIENT, Bench

from admin.url_frontier import make_messages
from admin.url_frontier import urlfrontier_pb2 as pb
from admin.url_frontier.server import FrontierServer, ListenRefused, address_of
from admin.url_frontier.service import WORKERS
from archive.settings.urlfrontier import UrlFrontierSettings
from frontier.definition.job import Limits, Profile
from frontier.lease import Lease
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier

OK, SKIPPED, FAIL = pb.AckMessage.OK, pb.AckMessage.SKIPPED, pb.AckMessage.FAIL
SETTINGS = UrlFrontierSettings(port=0)


class Client:
    """A client by the descriptor of the interface, as generated stubs call it."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        calls = pb.DESCRIPTOR.services_by_name["URLFrontier"].methods
        self._calls = {call.name: self._call(call) for call in calls}

    def __getattr__(self, name: str) -> Any:
        return self._calls[name]

    def _call(self, call: Any) -> Any:
        kinds = {(0, 0): "unary_unary", (0, 1): "unary_stream", (1, 1): "stream_stream"}
        make = getattr(self._channel, kinds[int(call.client_streaming), int(call.server_streaming)])
        return make(
            f"/urlfrontier.URLFrontier/{call.name}",
            request_serializer=getattr(pb, call.input_type.name).SerializeToString,
            response_deserializer=getattr(pb, call.output_type.name).FromString,
        )

    def put(self, *items: pb.URLItem) -> list[tuple[str, int]]:
        return [(ack.ID, ack.status) for ack in self.PutURLs(iter(items), timeout=100)]

    def get(self, **asked: Any) -> list[str]:
        return [found.url for found in self.GetURLs(pb.GetParams(**asked), timeout=100)]

    def close(self) -> None:
        self._channel.close()


def info(url: str, **metadata: str | list[str]) -> pb.URLInfo:
    found = pb.URLInfo(url=url)
    for name, values in metadata.items():
        found.metadata[name].values.extend([values] if isinstance(values, str) else values)
    return found


def discovered(url: str, id: str = "", crawl: str = "", **metadata: str | list[str]) -> pb.URLItem:
    found = info(url, **metadata)
    found.crawlID = crawl
    return pb.URLItem(ID=id, discovered=pb.DiscoveredURLItem(info=found))


def known(url: str, again: int = 0, **metadata: str) -> pb.URLItem:
    return pb.URLItem(known=pb.KnownURLItem(info=info(url, **metadata), refetchable_from_date=again))


@pytest.fixture
def bench(redis_url: str) -> Iterator[Bench]:
    bench = Bench(redis_url)
    yield bench
    bench.close()


@pytest.fixture
def frontier(bench: Bench) -> Frontier:
    return bench.frontier("http://a.example/", "http://b.example/")


@pytest.fixture
def serve() -> Iterator[Callable[..., Client]]:
    opened: list[FrontierServer | Client] = []

    def start(frontier: Frontier, settings: UrlFrontierSettings = SETTINGS) -> Client:
        server = FrontierServer("spring", frontier, settings)
        server.start()
        client = Client(server.address)
        opened.extend((server, client))
        return client

    yield start
    for each in reversed(opened):
        if isinstance(each, Client):
            each.close()
        else:
            each.stop()


@pytest.fixture
def client(frontier: Frontier, serve: Callable[..., Client]) -> Client:
    return serve(frontier)


def refused(code: grpc.StatusCode, call: Callable[[], object]) -> str:
    with pytest.raises(grpc.RpcError) as found:
        call()
    assert found.value.code() is code
    return str(found.value.details())


# -- PutURLs and GetURLs


def test_a_discovered_url_is_queued_once_and_acknowledged_by_its_id(client: Client, frontier: Frontier) -> None:
    acks = client.put(
        discovered("http://a.example/1", "first"),
        discovered("http://a.example/1"),
        discovered("mailto:x@example.org", "mail"),
        pb.URLItem(ID="empty"),
    )

    assert acks == [("first", OK), ("http://a.example/1", SKIPPED), ("mail", SKIPPED), ("empty", SKIPPED)]
    assert frontier.reports.progress().queued == 3


def test_a_url_that_is_handed_out_is_leased_until_it_comes_back(client: Client, frontier: Frontier) -> None:
    assert client.get() == ["http://a.example/", "http://b.example/"]
    assert client.get() == []
    assert frontier.reports.progress().leased == 2

    acks = client.put(
        known("http://a.example/", **{"fetch.statusCode": "200", "fetch.byteLength": "700"}),
        known("http://b.example/", **{"fetch.statusCode": "404"}),
    )

    assert acks == [("http://a.example/", OK), ("http://b.example/", OK)]
    progress = frontier.reports.progress()
    assert (progress.leased, progress.done, progress.pages, progress.bytes) == (0, 2, 1, 700)
    assert progress.codes == {200: 1, 404: 1}
    assert client.put(known("http://a.example/")) == [("http://a.example/", OK)], "a repeated item changes nothing"


def test_a_url_has_its_origin_and_depth(client: Client, frontier: Frontier) -> None:
    path = ["http://a.example/", "http://a.example/1"]
    client.put(discovered("http://c.example/2", **{"url.path": path, "depth": "2"}))

    found = next(each for each in client.GetURLs(pb.GetParams(key="c.example")))

    assert (found.url, found.key, found.crawlID) == ("http://c.example/2", "c.example", "spring")
    assert list(found.metadata["url.path"].values) == path
    assert list(found.metadata["depth"].values) == ["2"]


def test_a_lease_lasts_as_long_as_the_client_asks_and_goes_back_then(
    client: Client, frontier: Frontier, bench: Bench
) -> None:
    before = bench.now()
    assert client.get(key="a.example", delay_requestable=600) == ["http://a.example/"]
    after = bench.now()
    (_, expiry), *_ = bench.client.zrange(bench.key("leases"), 0, -1, withscores=True)
    assert before + 599_000 < expiry <= after + 600_000

    lease = frontier.outside.held_lease("http://a.example/", WORKERS)
    assert lease is not None
    bench.expire(lease)
    until(lambda: client.get(key="a.example"), what="the URL of the expired lease")


def test_an_item_whose_lease_has_expired_is_skipped(client: Client, frontier: Frontier, bench: Bench) -> None:
    client.get(key="a.example")
    lease = frontier.outside.held_lease("http://a.example/", WORKERS)
    assert lease is not None
    bench.expire(lease)
    frontier.sweep()

    assert client.put(known("http://a.example/")) == [("http://a.example/", SKIPPED)]
    assert frontier.reports.progress().done == 0


def test_a_client_can_not_end_the_lease_of_our_own_worker(client: Client, frontier: Frontier) -> None:
    lease = frontier.claim("worker-1")
    assert isinstance(lease, Lease)

    assert client.put(known(lease.url)) == [(lease.url, SKIPPED)]
    assert frontier.finish(lease, VisitOutcome(200))


def test_another_service_takes_the_items_of_one_that_ended(
    frontier: Frontier, bench: Bench, serve: Callable[..., Client]
) -> None:
    serve(frontier).get()

    assert serve(bench.again(frontier)).put(known("http://a.example/")) == [("http://a.example/", OK)]


def test_a_url_with_a_date_comes_back_then(client: Client, frontier: Frontier, bench: Bench) -> None:
    client.get(key="a.example")
    before = bench.now()
    later = int(time.time()) + 3_600
    assert client.put(known("http://a.example/", later)) == [("http://a.example/", OK)]
    after = bench.now()

    assert client.get(key="a.example") == []
    (_, due), *_ = bench.client.zrange(bench.key("retry"), 0, -1, withscores=True)
    assert before + 3_598_000 < due <= after + 3_600_000
    bench.make_retries_due()
    assert "http://a.example/" in client.get()


def test_a_known_url_that_nobody_handed_out_is_not_visited_any_more(client: Client, frontier: Frontier) -> None:
    assert client.put(known("http://a.example/old"), known("http://a.example/later", 2**40)) == [
        ("http://a.example/old", OK),
        ("http://a.example/later", SKIPPED),
    ]
    assert client.put(discovered("http://a.example/old")) == [("http://a.example/old", SKIPPED)]


def test_a_failure_that_is_done_is_not_tried_again_and_lets_the_host_rest(client: Client, frontier: Frontier) -> None:
    client.get()
    client.put(known("http://a.example/", **{"fetch.exception": "timeout"}), known("http://b.example/", fetch="x"))

    progress = frontier.reports.progress()
    assert (progress.failed, progress.done, progress.queued) == (1, 1, 0)
    assert frontier.outside.host_counts("a.example").visits == 0


def test_a_seed_widens_the_scope(bench: Bench, serve: Callable[..., Client]) -> None:
    frontier = bench.frontier("http://a.example/", profile=Profile(scope="host"))
    client = serve(frontier)

    assert client.put(discovered("http://new.example/x", "x")) == [("x", SKIPPED)]
    assert client.put(discovered("http://new.example/", "seed", isSeed="true")) == [("seed", OK)]
    assert client.put(discovered("http://new.example/x", "x")) == [("x", OK)]


def test_a_client_gets_no_more_queues_and_urls_than_it_asks_for(bench: Bench, serve: Callable[..., Client]) -> None:
    frontier = bench.frontier(*(f"http://{name}.example/" for name in "abcd"), settings=PATIENT_4)
    client = serve(frontier)
    client.put(*(discovered(f"http://{name}.example/{number}") for name in "abcd" for number in range(5)))

    by_host: dict[str, int] = {}
    for url in client.get(max_queues=2, max_urls_per_queue=3):
        host = url.split("/")[2]
        by_host[host] = by_host.get(host, 0) + 1

    assert len(by_host) == 2
    assert max(by_host.values()) <= 3
    assert frontier.reports.progress().leased == sum(by_host.values()), "the other leases were given back"


PATIENT_4 = PATIENT.model_copy(update={"per_host": 4})


def test_a_client_gets_the_urls_of_one_queue(client: Client, frontier: Frontier) -> None:
    client.put(*(discovered(f"http://{name}.example/{number}") for name in "abcdef" for number in range(3)))

    assert client.get(key="e.example") == ["http://e.example/0"]
    assert client.get(key="e.example") == [], "one visit of a host at a time"
    assert client.get(key="nowhere.example") == []
    assert frontier.reports.progress().leased == 1


def test_a_limit_of_the_job_holds_for_clients_too(bench: Bench, serve: Callable[..., Client]) -> None:
    frontier = bench.frontier("http://a.example/", profile=Profile(scope="any", limits=Limits(pages=1)))
    client = serve(frontier)
    client.put(discovered("http://b.example/"), discovered("http://c.example/"))

    assert len(client.get()) == 1
    client.put(known("http://a.example/"))
    assert client.get() == []


# -- queues


def test_queues_are_hosts_that_are_due_and_with_inactive_ones_all(client: Client, frontier: Frontier) -> None:
    frontier.controls.block_host("a.example", 60)

    due = client.ListQueues(pb.Pagination())
    every = client.ListQueues(pb.Pagination(include_inactive=True))
    second = client.ListQueues(pb.Pagination(include_inactive=True, start=1, size=1))

    assert (list(due.values), due.total) == (["b.example"], 1)
    assert (sorted(every.values), every.total) == (["a.example", "b.example"], 2)
    assert (list(second.values), second.start, second.size) == (list(every.values)[1:], 1, 1)


def test_statistics_are_those_of_the_job_or_of_a_host(client: Client) -> None:
    client.put(discovered("http://a.example/1"))
    client.get(key="a.example")

    every = client.GetStats(pb.QueueWithinCrawlParams())
    one = client.GetStats(pb.QueueWithinCrawlParams(key="a.example"))

    assert (every.size, every.inProcess, every.numberOfQueues, every.crawlID) == (2, 1, 2, "spring")
    assert every.counts["done"] == 0
    assert (one.size, one.inProcess, one.numberOfQueues) == (1, 1, 1)


def test_a_host_is_blocked_until_a_time_and_again_free(client: Client) -> None:
    client.BlockQueueUntil(pb.BlockQueueParams(key="a.example", time=int(time.time()) + 600))
    assert client.get() == ["http://b.example/"]

    client.BlockQueueUntil(pb.BlockQueueParams(key="a.example", time=0))
    assert client.get() == ["http://a.example/"]


def test_a_delay_rests_the_host_after_a_visit(client: Client, bench: Bench) -> None:
    client.SetDelay(pb.QueueDelayParams(key="a.example", delay_requestable=40))
    client.SetDelay(pb.QueueDelayParams(delay_requestable=20))
    client.get()
    before = bench.now()
    client.put(known("http://a.example/"), known("http://b.example/"))
    after = bench.now()

    assert before + 39_000 < bench.host("a.example")["d"] <= after + 40_000
    assert before + 19_000 < bench.host("b.example")["d"] <= after + 20_000


def test_a_deleted_queue_is_set_aside_and_can_be_taken_back(client: Client, frontier: Frontier) -> None:
    assert client.DeleteQueue(pb.QueueWithinCrawlParams(key="a.example")).value == 1
    assert client.DeleteQueue(pb.QueueWithinCrawlParams(key="a.example")).value == 0
    assert client.get() == ["http://b.example/"]
    assert frontier.controls.hosts_aside() == {"a.example": "deleted by a client of URLFrontier"}

    client.BlockQueueUntil(pb.BlockQueueParams(key="a.example"))
    assert client.get() == ["http://a.example/"]


@pytest.mark.parametrize("key", ["http://a.example/", "a b", "x" * 1_000_000, "a\nb"])
def test_a_key_that_is_no_host_is_refused(client: Client, key: str) -> None:
    for call in (
        lambda: client.DeleteQueue(pb.QueueWithinCrawlParams(key=key)),
        lambda: client.BlockQueueUntil(pb.BlockQueueParams(key=key)),
        lambda: client.SetDelay(pb.QueueDelayParams(key=key, delay_requestable=1)),
        lambda: client.get(key=key),
    ):
        assert "is no host" in refused(grpc.StatusCode.INVALID_ARGUMENT, call)


# -- URLs that are looked for


def test_the_state_of_a_url_is_told(client: Client) -> None:
    def status(url: str) -> pb.URLItem:
        found = client.GetURLStatus(pb.URLStatusRequest(url=url))
        assert isinstance(found, pb.URLItem)
        return found

    assert status("http://a.example/").WhichOneof("item") == "discovered"
    client.get()
    assert list(status("http://a.example/").known.info.metadata["state"].values) == ["leased"]
    client.put(known("http://a.example/"))
    assert list(status("http://a.example/").known.info.metadata["state"].values) == ["seen"]
    assert "does not know" in refused(grpc.StatusCode.NOT_FOUND, lambda: status("http://a.example/none"))
    refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: status("nonsense"))


def test_urls_are_listed_and_counted(client: Client) -> None:
    client.put(*(discovered(f"http://a.example/Page{number}") for number in range(5)))
    client.get(key="b.example")

    listed = [item.discovered.info.url for item in client.ListURLs(pb.ListUrlParams(filter="page", ignoreCase=True))]

    assert sorted(listed) == [f"http://a.example/Page{number}" for number in range(5)]
    assert len(list(client.ListURLs(pb.ListUrlParams(start=2, size=2)))) == 2
    assert client.CountURLs(pb.CountUrlParams()).value == 7
    assert client.CountURLs(pb.CountUrlParams(key="b.example")).value == 1
    assert client.CountURLs(pb.CountUrlParams(filter="page")).value == 0


# -- the job


def test_the_job_is_the_crawl(client: Client) -> None:
    assert list(client.ListCrawls(pb.Local()).values) == ["spring"]
    assert next(iter(client.ListNodes(pb.Empty()).values)).startswith("127.0.0.1:")
    assert len(client.get(crawlID="DEFAULT")) == 2
    assert "use spring" in refused(grpc.StatusCode.NOT_FOUND, lambda: client.get(crawlID="autumn"))
    assert client.put(discovered("http://a.example/1", "1", crawl="autumn")) == [("1", SKIPPED)]


def test_a_job_is_paused_and_goes_on(client: Client, frontier: Frontier) -> None:
    client.SetActive(pb.Active(state=False))
    assert client.GetActive(pb.Local()).state is False
    assert client.get() == []
    assert client.put(discovered("http://a.example/1", "1")) == [("1", OK)]

    client.SetActive(pb.Active(state=True))
    assert client.GetActive(pb.Local()).state is True
    assert len(client.get()) == 2


def test_clients_at_once_get_different_urls(bench: Bench, serve: Callable[..., Client]) -> None:
    frontier = bench.frontier(*(f"http://host{number}.example/" for number in range(60)))
    clients = [serve(bench.again(frontier)) for _ in range(2)]

    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(clients[number % 2].get, max_queues=10) for number in range(6)]
        got = [url for call in calls for url in call.result()]

    assert len(got) == len(set(got)) == 60
    assert frontier.reports.progress().leased == 60


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        ("DeleteCrawl", pb.DeleteCrawlMessage(value="spring")),
        ("PurgeURLs", pb.PurgeUrlParams(days=1)),
        ("SetCrawlLimit", pb.CrawlLimitParams(key="a.example", limit=1)),
        ("SetLogLevel", pb.LogLevelParams()),
    ],
)
def test_a_call_without_a_meaning_here_says_so(client: Client, call: str, asked: Any) -> None:
    assert len(refused(grpc.StatusCode.UNIMPLEMENTED, lambda: getattr(client, call)(asked))) > 20


def test_a_job_that_was_dropped_ends_every_call(client: Client, frontier: Frontier) -> None:
    frontier.forget()

    assert "has no job spring" in refused(grpc.StatusCode.FAILED_PRECONDITION, client.get)
    refused(grpc.StatusCode.FAILED_PRECONDITION, lambda: client.put(discovered("http://a.example/1")))


# -- the listener


def test_a_network_address_needs_a_list_of_clients(frontier: Frontier) -> None:
    with pytest.raises(ListenRefused, match=r"without a password and encryption; set urlfrontier\.allow_clients"):
        FrontierServer("spring", frontier, UrlFrontierSettings(host="0.0.0.0", port=0))


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.20.0.11:4711", "10.20.0.11"),
        ("ipv6:%5B::1%5D:4711", "::1"),
        ("ipv6:[::ffff:10.20.0.11]:4711", "10.20.0.11"),
        ("unix:", ""),
        ("nonsense", ""),
    ],
)
def test_the_address_of_a_client_is_read(peer: str, address: str) -> None:
    assert address_of(peer) == address


def test_a_port_in_use_is_one_line(frontier: Frontier, client: Client) -> None:
    address = next(iter(client.ListNodes(pb.Empty()).values))
    with pytest.raises(ListenRefused, match=r"another program may use the port"):
        FrontierServer("spring", frontier, UrlFrontierSettings(port=int(address.rpartition(":")[2])))


def test_a_message_that_is_too_long_ends_the_call(client: Client) -> None:
    refused(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.put(discovered("http://a.example/" + "x" * 2_000_000)))


@pytest.mark.timeout(300)
def test_thousands_of_items_are_taken_in_one_call(client: Client, frontier: Frontier) -> None:
    acks = client.put(*(discovered(f"http://a.example/{number}", str(number)) for number in range(2_000)))

    assert acks == [(str(number), OK) for number in range(2_000)]
    assert frontier.reports.progress().queued == 2_002


def test_a_client_that_goes_away_keeps_no_call(frontier: Frontier, serve: Callable[..., Client]) -> None:
    client = serve(frontier, UrlFrontierSettings(port=0, most_calls=2))
    gone = Event()

    def forever() -> Iterator[pb.URLItem]:
        yield discovered("http://a.example/1")
        gone.wait(60)

    calls = [client.PutURLs(forever()) for _ in range(2)]
    for call in calls:
        next(call)
    refused(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.get())
    for call in calls:
        call.cancel()
    gone.set()

    def answers() -> bool:
        try:
            return bool(client.GetActive(pb.Local()).state)
        except grpc.RpcError:
            return False

    until(answers, what="an answer after the calls were cancelled")


# -- the command and the generated messages


def test_the_command_serves_a_running_job_until_a_signal(home: Path, bench: Bench, redis_url: str) -> None:
    frontier = bench.frontier("http://a.example/", name="spring-20260101000000")
    bench.client.set(bench.key("view", "spring-20260101000000"), "{}")
    arguments = ("frontier", "serve", "--job", "spring", "--listen", "127.0.0.1:0")
    with Command(*arguments, home=home, GHOSTFLEET_REDIS__URL=redis_url) as command:
        client = Client(command.line(ready=True)["urlfrontier"])
        assert client.get(crawlID="spring") == ["http://a.example/"]
        client.close()
        command.signal(signal.SIGTERM)
        assert command.ended() == 0, command.stderr
    assert command.line(state="ended")["reason"] == "as asked"
    assert frontier.reports.progress().leased == 1, "the client may send the item to the next service"


def test_the_messages_are_those_of_the_proto_file(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools")
    make_messages.make(tmp_path)

    def described(folder: Path) -> str:
        text = (folder / "urlfrontier_pb2.py").read_text()
        return next(line for line in text.splitlines() if line.startswith("DESCRIPTOR = "))

    assert described(tmp_path) == described(make_messages.FOLDER)
    assert json.dumps(sorted(pb.DESCRIPTOR.services_by_name)) == '["URLFrontier"]'
