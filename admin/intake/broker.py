"""This module alone imports kombu, which the extra `amqp` installs: one connection to a broker with one consumer.

The connection may break at any time. Messages that were not acknowledged come again.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from archive.settings.intake import IntakeSettings
from archive.settings.values.redacted import without_secrets

if TYPE_CHECKING:
    from kombu import Connection
    from kombu.message import Message

REJECTED: Final = ".rejected"
"""The queue of rejected messages has the name of the queue with this ending."""
REASON: Final = "ghostfleet-reason"
"""The header of a rejected message that says why it was rejected."""
_MISSING: Final = (
    "messages of a broker need kombu, which is not installed; install the extra: pip install 'ghostfleet[amqp]'"
)
_CONNECT_SECONDS: Final = 10
_ANSWER_SECONDS: Final = 20
_HEARTBEAT_SECONDS: Final = 30
_MOST_REJECTED: Final = 100_000
"""The queue of rejected messages keeps the latest ones, at most so many."""


class BrokerMissing(Exception):
    """The library kombu is not installed. The message has the remedy."""


class BrokerTrouble(Exception):
    """The broker can't be reached, or the connection broke. The message gives the reason in one line."""


class BrokerMessage:
    """The message is neither acknowledged nor given back yet."""

    def __init__(self, message: Message, reject: Callable[[bytes, Message, str], None]) -> None:
        self._message = message
        self._reject = reject
        self.problem = "the message is compressed; send it as plain JSON" if message.errors else ""
        """Why the body can't be read; empty when it can."""
        body = message.body if message.body is not None else b""
        self.body: bytes = body.encode("utf-8", "replace") if isinstance(body, str) else bytes(body)

    def acknowledge(self) -> None:
        """Let the broker forget the message."""
        self._message.ack()

    def reject(self, reason: str) -> None:
        """Move the message to the queue of rejected messages, and let the broker forget the first one."""
        self._reject(self.body, self._message, reason)
        self._message.ack()

    def give_back(self) -> None:
        """Put the message back into the queue."""
        self._message.requeue()


class Broker:
    """The broker is connected, and hands out messages of the queue."""

    def __init__(
        self,
        connection: Connection,
        outgoing: Connection,
        settings: IntakeSettings,
        take: Callable[[BrokerMessage], None],
    ) -> None:
        """Begin to take messages from `connection`. Rejected ones go to `outgoing`.

        A publication waits for the broker's answer. On one connection, it would take the next messages meanwhile.
        """
        from kombu import Consumer, Exchange, Producer, Queue

        self._connection = connection
        self._rejected = f"{settings.queue}{REJECTED}"
        exchange = Exchange(settings.exchange, "direct", durable=True) if settings.exchange else Exchange("")
        queue = Queue(settings.queue, exchange, settings.queue, durable=True, no_declare=True)
        rejected = Queue(
            self._rejected, durable=True, no_declare=True, queue_arguments={"x-max-length": _MOST_REJECTED}
        )
        for each in (queue, rejected):
            self._declare(each)
        channel: Any = connection.default_channel
        if settings.exchange:
            exchange.bind(channel).declare()
            queue.bind(channel).bind_to(exchange, settings.queue)
        self._producer = Producer(outgoing, auto_declare=False)

        def receive(message: Message, _: Exception | None = None) -> None:
            take(BrokerMessage(message, self._put_aside))

        consumer = Consumer(
            channel,
            [queue],
            on_message=receive,
            on_decode_error=receive,
            auto_declare=False,
            prefetch_count=settings.prefetch,
        )
        consumer.consume()

    def wait(self, seconds: float) -> None:
        """Take messages for at most this time, and return after the first ones."""
        with suppress(socket.timeout):
            self._connection.drain_events(timeout=seconds)
        if self._connection.supports_heartbeats:
            self._connection.heartbeat_check()

    def _declare(self, queue: Any) -> None:
        """Make a queue that is not there. A queue of an operator keeps its own arguments."""
        from kombu.exceptions import ChannelError

        with self._connection.channel() as trial:
            try:
                queue.bind(trial).queue_declare(passive=True)
            except (*self._connection.channel_errors, ChannelError):
                with self._connection.channel() as second:
                    queue.bind(second).queue_declare()

    def _put_aside(self, body: bytes, message: Message, reason: str) -> None:
        self._producer.publish(
            body,
            exchange="",
            routing_key=self._rejected,
            headers={REASON: reason},
            content_type=message.content_type or "application/json",
            content_encoding="binary",
            delivery_mode=2,
        )


def require_kombu() -> None:
    """Raise BrokerMissing when kombu is not installed."""
    from importlib.util import find_spec

    if find_spec("kombu") is None:
        raise BrokerMissing(_MISSING)


@contextmanager
def connected(settings: IntakeSettings, take: Callable[[BrokerMessage], None]) -> Iterator[Broker]:
    """Yield the connected broker; `take` gets each message. At the end, messages in hand are back in the queue.

    Raises BrokerTrouble, also from the block.
    """
    from kombu import Connection
    from kombu.exceptions import KombuError

    _refuse_compression()
    is_redis = settings.url.startswith("redis")
    connection = Connection(
        settings.url,
        heartbeat=0 if is_redis else _HEARTBEAT_SECONDS,
        # Without the name, any certificate of a known authority would do.
        ssl={"server_hostname": urlsplit(settings.url).hostname} if settings.url.startswith("amqps:") else None,
        connect_timeout=_CONNECT_SECONDS,
        transport_options={"visibility_timeout": settings.redis_seconds}
        if is_redis
        else {"confirm_publish": True, "read_timeout": _ANSWER_SECONDS, "write_timeout": _ANSWER_SECONDS},
    )
    outgoing = connection.clone(heartbeat=0)
    broken = (*connection.connection_errors, *connection.channel_errors, KombuError, OSError)
    is_broken = False
    try:
        yield Broker(connection, outgoing, settings, take)
    except broken as error:
        is_broken = True
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise BrokerTrouble(f"broker {without_secrets(settings.url)}: {reason}") from error
    finally:
        for each in (connection, outgoing):
            with suppress(*broken):
                _close(each, is_broken)


def _close(connection: Connection, is_broken: bool) -> None:
    """Close a connection. A broken one is dropped, since the answer of a broker that is gone would be awaited."""
    if is_broken:
        connection.collect(socket_timeout=1)
    else:
        connection.release()


def _refuse_compression() -> None:
    """Let kombu unpack no message, since a short one may become as long as the memory."""
    from kombu import compression

    def refuse(_: bytes) -> bytes:
        raise ValueError("compressed messages are not read")

    for kind in compression.encoders():
        compression.register(compression.get_encoder(kind)[0], refuse, kind)
