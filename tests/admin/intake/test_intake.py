"""The intake takes messages of real brokers into the frontier on a real Redis."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from kombu import Connection, Producer, Queue
from support.places import ROOT
from support.processes.deaf_relay import DeafRelay
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.stores.rabbit_server import RabbitServer
from support.stores.real_frontier import Bench
from support.stores.redis_server import RedisServer

from frontier.lease import Lease
from frontier.queue import Frontier

pytestmark = pytest.mark.timeout(400)
QUEUE = "requests"
REJECTED = "requests.rejected"
PAGE = {"url": "http://example.org/page"}


@pytest.fixture(scope="module")
def rabbit() -> Iterator[RabbitServer]:
    with RabbitServer() as server:
        yield server


class Queues:
    """The queues of a broker, as a program that feeds the crawl sees them."""

    def __init__(self, url: str) -> None:
        self._connection = Connection(url)
        self._channel = self._connection.channel()
        self._queues = {
            QUEUE: Queue(QUEUE, durable=True),
            REJECTED: Queue(REJECTED, durable=True, queue_arguments={"x-max-length": 100_000}),
        }
        self._bound = {name: queue.bind(self._channel) for name, queue in self._queues.items()}
        for queue in self._bound.values():
            queue.queue_declare()

    def put(self, *messages: object, **options: Any) -> None:
        for message in messages:
            body = message if isinstance(message, bytes) else json.dumps(message).encode()
            Producer(self._channel).publish(body, exchange="", routing_key=QUEUE, **options)

    def get(self, name: str) -> Any:
        return self._bound[name].get(no_ack=True)

    def length(self, name: str = QUEUE) -> int:
        return int(self._bound[name].queue_declare().message_count)

    def empty(self) -> None:
        for queue in self._bound.values():
            queue.purge()

    def close(self) -> None:
        self._channel.close()
        self._connection.close()


@pytest.fixture
def bench(redis_url: str) -> Iterator[Bench]:
    bench = Bench(redis_url)
    yield bench
    bench.close()


@pytest.fixture
def frontier(bench: Bench) -> Frontier:
    """A job that is running: its command has published a view."""
    frontier = bench.frontier("http://example.org/seed")
    bench.client.set(bench.key("view"), "{}")
    return frontier


@pytest.fixture
def queues(rabbit: RabbitServer) -> Iterator[Queues]:
    queues = Queues(rabbit.url)
    queues.empty()
    yield queues
    queues.close()


@pytest.fixture
def start(home: Path, redis_url: str) -> Iterator[Callable[..., Command]]:
    commands: list[Command] = []

    def begin(url: str, *more: str, **environment: str) -> Command:
        environment = {"GHOSTFLEET_INTAKE__URL": url, "GHOSTFLEET_REDIS__URL": redis_url, **environment}
        command = Command("intake", "amqp", "--job", "spring", *more, home=home, **environment)
        commands.append(command.__enter__())
        command.line(state="open")
        return command

    yield begin
    for command in commands:
        command.__exit__(None, None, None)


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "admin.cli", *arguments, "--home", str(home)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


def queued(frontier: Frontier) -> int:
    return frontier.reports.progress().queued


def test_messages_of_both_forms_are_queued_and_acknowledged(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, start: Callable[..., Command]
) -> None:
    umbra = {
        **{"url": "http://example.org/a.png", "method": "GET", "headers": {}, "parentUrl": "http://example.org/page"},
        "parentUrlMetadata": {"pathFromSeed": "L", "heritableData": {"source": "http://example.org/seed"}},
    }
    command = start(rabbit.url)
    queues.put(PAGE, umbra, PAGE, {"url": "http://new.example/", "seed": True})

    until(lambda: queued(frontier) == 4, what="the URLs in the frontier")
    command.signal(signal.SIGTERM)

    assert command.ended() == 0, command.stderr
    last = command.line(state="ended")
    assert (last["added"], last["known"], last["rejected"]) == (3, 1, 0)
    assert queues.length() == 0
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    assert (lease.url, lease.hop_path, lease.via) == (umbra["url"], "LE", umbra["parentUrl"])
    assert frontier.added_seeds(0) == ["http://new.example/"]


def test_a_message_that_can_not_be_used_is_kept_apart_with_its_reason(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, start: Callable[..., Command]
) -> None:
    command = start(rabbit.url)
    queues.put(b"no json", {"url": "mailto:x@example.org"}, PAGE)

    until(lambda: queues.length(REJECTED) == 2, what="two rejected messages")
    until(lambda: queued(frontier) == 2, what="the message that can be used")
    command.signal(signal.SIGTERM)
    command.ended()

    found = [queues.get(REJECTED) for _ in range(2)]
    assert [bytes(message.body) for message in found] == [b"no json", b'{"url": "mailto:x@example.org"}']
    assert "the message is no JSON" in found[0].headers["ghostfleet-reason"]
    assert "a message is rejected: the message is no JSON" in command.stderr


def test_a_flood_of_messages_that_can_not_be_used_is_rejected_in_order(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, start: Callable[..., Command]
) -> None:
    bad = [f"bad {number}".encode() for number in range(600)]
    queues.put(*bad)
    command = start(rabbit.url, GHOSTFLEET_INTAKE__PREFETCH="1000")

    until(lambda: queues.length(REJECTED) == len(bad), what="all messages rejected")

    assert [bytes(queues.get(REJECTED).body) for _ in bad] == bad
    assert "the next try is in" not in command.errors


def test_a_compressed_message_is_rejected_without_being_unpacked(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, start: Callable[..., Command]
) -> None:
    start(rabbit.url)
    queues.put(b"x" * 10_000_000, compression="gzip")

    until(lambda: queues.length(REJECTED) == 1, what="a rejected message")


def test_a_paused_job_leaves_messages_in_the_queue(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, start: Callable[..., Command]
) -> None:
    command = start(rabbit.url)
    frontier.controls.pause("lunch")
    command.line(state="waiting", reason="job spring is paused: lunch")
    queues.put(PAGE)
    until(lambda: queues.length() == 1, what="the message in the queue")

    frontier.controls.go_on()

    until(lambda: queued(frontier) == 2, what="the URL in the frontier")


def test_a_job_that_has_ended_its_work_takes_no_message(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, bench: Bench, start: Callable[..., Command]
) -> None:
    command = start(rabbit.url)
    bench.client.hset(bench.key("state"), "finished", 1)
    queues.put(PAGE)

    assert command.ended() == 0
    assert command.line(state="ended")["reason"] == "job spring has ended its work"
    until(lambda: queues.length() == 1, what="the message in the queue")


def test_a_kill_between_add_and_acknowledgement_takes_the_url_once(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, home: Path, start: Callable[..., Command]
) -> None:
    with DeafRelay(rabbit.port) as relay:
        first = start(rabbit.url.replace(str(rabbit.port), str(relay.port)))
        relay.be_deaf()  # no acknowledgement arrives any more
        queues.put(PAGE)
        until(lambda: queued(frontier) == 2, what="the URL in the frontier")
        first.signal(signal.SIGKILL)
        assert first.ended() == -signal.SIGKILL
    until(lambda: queues.length() == 1, what="the message back in the queue")

    second = start(rabbit.url)

    until(lambda: queues.length() == 0, what="an empty queue")
    second.signal(signal.SIGTERM)
    second.ended()
    last = second.line(state="ended")
    assert (last["added"], last["known"]) == (0, 1)
    assert queued(frontier) == 2


def test_the_intake_connects_again_after_the_broker_was_away_and_shows_no_password(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, port: int, start: Callable[..., Command]
) -> None:
    with DeafRelay(rabbit.port, listen=port):
        command = start(rabbit.url.replace(str(rabbit.port), str(port)))
    until(lambda: "the next try is in" in command.errors, what="a line about the lost connection")
    with DeafRelay(rabbit.port, listen=port):
        queues.put(PAGE)
        until(lambda: queued(frontier) == 2, what="the URL in the frontier")
        command.signal(signal.SIGTERM)
        command.ended()
    assert "guest" not in command.stderr + json.dumps(command.lines)


def test_a_redis_serves_as_broker_too(
    bench: Bench, frontier: Frontier, redis_url: str, start: Callable[..., Command]
) -> None:
    url = redis_url.replace("unix://", "redis+socket://")
    queues = Queues(url)
    command = start(url)
    queues.put(PAGE, b"no json")

    until(lambda: queued(frontier) == 2, what="the URL in the frontier")
    until(lambda: queues.length(REJECTED) == 1, what="the rejected message")
    command.signal(signal.SIGTERM)

    assert command.ended() == 0
    assert bench.client.hlen("unacked") == 0
    queues.close()


def test_messages_of_an_exchange_arrive(
    rabbit: RabbitServer, queues: Queues, frontier: Frontier, start: Callable[..., Command]
) -> None:
    start(rabbit.url, "--exchange", "umbra")
    with Connection(rabbit.url) as connection:
        Producer(connection.channel()).publish(json.dumps(PAGE).encode(), exchange="umbra", routing_key=QUEUE)

    until(lambda: queued(frontier) == 2, what="the URL in the frontier")


def test_messages_in_hand_go_back_while_the_frontier_does_not_answer(
    tmp_path: Path, redis_url: str, start: Callable[..., Command]
) -> None:
    url = redis_url.replace("unix://", "redis+socket://")
    with RedisServer(tmp_path) as server:
        bench = Bench(server.url)
        frontier = bench.frontier("http://example.org/seed")
        bench.client.set(bench.key("view"), "{}")
        queues = Queues(url)
        own = {"GHOSTFLEET_REDIS__URL": server.url, "GHOSTFLEET_REDIS__TIMEOUT_SECONDS": "0.5"}
        command = start(url, **own)
        server.pause()
        queues.put(*({"url": f"http://example.org/{number}"} for number in range(10)))
        command.line(state="waiting")
        until(lambda: queues.length() == 10, what="all messages back in the queue")
        server.resume()

        until(lambda: queued(frontier) == 11, what="the URLs in the frontier")
        command.signal(signal.SIGTERM)
        assert command.ended() == 0
        queues.close()
        bench.close()


def test_a_killed_intake_leaves_its_messages_to_the_next_one(
    tmp_path: Path, redis_url: str, bench: Bench, start: Callable[..., Command]
) -> None:
    broker = bench.client
    url = redis_url.replace("unix://", "redis+socket://")
    with RedisServer(tmp_path) as server:
        own_bench = Bench(server.url)
        frontier = own_bench.frontier("http://example.org/seed")
        own_bench.client.set(own_bench.key("view"), "{}")
        queues = Queues(url)
        own = {"GHOSTFLEET_REDIS__URL": server.url, "GHOSTFLEET_INTAKE__REDIS_SECONDS": "1"}
        first = start(url, **own)
        server.pause()
        queues.put(PAGE)
        until(lambda: broker.hlen("unacked") == 1, what="the message in the hand of the intake")
        first.signal(signal.SIGKILL)
        first.ended()
        server.resume()

        start(url, **own)

        until(lambda: queued(frontier) == 2, what="the URL in the frontier")
        queues.close()
        own_bench.close()


@pytest.mark.parametrize(("name", "is_trusted"), [("localhost", True), ("other.example", False)])
def test_a_broker_with_tls_must_have_a_certificate_of_its_name(
    home: Path, redis_url: str, frontier: Frontier, tmp_path: Path, name: str, is_trusted: bool
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    greetings: list[bytes] = []

    def answer(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                stream, _ = listener.accept()
                stream.settimeout(20)
                with suppress(OSError), context.wrap_socket(stream, server_side=True) as broker:
                    greetings.append(broker.recv(8))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,))
        thread.start()
        url = f"amqps://guest:guest@localhost:{listener.getsockname()[1]}//"
        environment = {"GHOSTFLEET_INTAKE__URL": url, "GHOSTFLEET_REDIS__URL": redis_url}
        trusting = {"SSL_CERT_FILE": str(tmp_path / "authority.pem")}
        with Command("intake", "amqp", "--job", "spring", home=home, **environment, **trusting) as command:
            reason = command.line(state="waiting")["reason"]
            command.signal(signal.SIGTERM)
            assert command.ended() == 0
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(30)

    assert ("certificate verify failed" in reason) is not is_trusted
    assert (b"AMQP\x00\x00\x09\x01" in greetings) is is_trusted


@pytest.mark.parametrize("broker", ["http://user:hidden@127.0.0.1/", "amqp:user:hidden@127.0.0.1"])
def test_a_broker_of_another_kind_is_refused_without_its_password(home: Path, broker: str) -> None:
    told = run(home, "intake", "amqp", "--job", "spring", "--url", broker)

    assert told.returncode == 2
    assert "begin it with amqp://" in told.stderr
    assert "hidden" not in told.stderr


def test_a_job_that_is_not_running_is_named(home: Path, bench: Bench, redis_url: str) -> None:
    told = run(home, "intake", "amqp", "--job", "autumn", "--url", "redis://127.0.0.1:1/")

    assert told.returncode == 2
    assert "there is no job autumn" in told.stderr
