"""The section `[intake]` names the broker whose messages feed a running crawl."""

from __future__ import annotations

from typing import Final

from pydantic import Field, field_validator

from archive.settings.values.base import Section

BROKERS: Final = ("amqp://", "amqps://", "redis://", "rediss://", "redis+socket://")


class IntakeSettings(Section):
    """These settings control `ghostfleet intake amqp`."""

    url: str = Field(
        "",
        description="Broker of the messages: amqp://USER:PASSWORD@HOST:PORT/VHOST, amqps:// (TLS), or a Redis that"
        " serves as broker (redis://, rediss://, redis+socket:///PATH).",
    )
    queue: str = Field("requests", min_length=1, max_length=255, description="Queue from which messages are taken.")
    exchange: str = Field(
        "",
        max_length=255,
        description="Direct exchange to which the queue is bound, with the queue's name as routing key. Umbra publishes"
        " to the exchange umbra. Empty binds the queue to none.",
    )
    prefetch: int = Field(
        50, ge=1, le=1_000, description="Messages that the broker hands out before the first is acknowledged."
    )
    longest_message: int = Field(
        262_144, ge=1_024, description="Bytes of the longest message that is read; a longer one is rejected."
    )
    longest_pause_seconds: float = Field(
        60, gt=0, le=3_600, description="Longest pause before the broker is asked again after a lost connection."
    )
    redis_seconds: float = Field(
        3_600,
        ge=1,
        description="With a Redis as broker, the messages of a killed intake come back after this time. An AMQP broker"
        " hands them out again at once.",
    )

    @field_validator("url")
    @classmethod
    def _scheme_is_known(cls, url: str) -> str:
        if url and not url.startswith(BROKERS):
            known = f"{', '.join(BROKERS[:-1])} or {BROKERS[-1]}"
            raise ValueError(f"begin it with {known}")
        return url
