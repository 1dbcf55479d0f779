"""The intake takes messages of real brokers into the frontier on a real Redis."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Producer, Queue
from support.places import ROOT
from support.processes.deaf_relay import DeafRelay
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.stores.rabbit_server import RabbitServer
from support.stores.real_frontier import Bench

from frontier.lease import Lease
from frontier.queue import Frontier

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
        return int(self._bound[name].queue_declare(passive=True).message_count)

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
    command.signal(signal.SIGTERM)
    command.ended()

    found = [queues.get(REJECTED) for _ in range(2)]
    assert [bytes(message.body) for message in found] == [b"no json", b'{"url": "mailto:x@example.org"}']
    assert "the message is no JSON" in found[0].headers["ghostfleet-reason"]
    assert "a message is rejected: the message is no JSON" in command.stderr
    assert queued(frontier) == 2


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
    frontier: Frontier, start: Callable[..., Command]
) -> None:
    with RabbitServer() as broker:
        command = start(broker.url)
        broker.kill()
        until(lambda: "the next try is in" in command.errors, what="a line about the lost connection")
        broker.start()
        queues = Queues(broker.url)
        queues.put(PAGE)
        until(lambda: queued(frontier) == 2, what="the URL in the frontier")
        queues.close()
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


def test_a_job_that_is_not_running_is_named(home: Path, bench: Bench, redis_url: str) -> None:
    arguments = ["intake", "amqp", "--job", "autumn", "--url", "redis://127.0.0.1:1/", "--home", str(home)]

    told = subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )

    assert told.returncode == 2
    assert "there is no job autumn" in told.stderr
