"""The section `[redis]` names the Redis of the fleet."""

from __future__ import annotations

from typing import Final

from pydantic import Field, field_validator

from archive.settings.values.base import Section

SCHEMES: Final = ("redis://", "rediss://", "unix://", "cluster://", "clusters://")


class RedisSettings(Section):
    """These settings control the Redis of the fleet."""

    url: str = Field(
        "",
        description="URL of Redis, Valkey or Kvrocks: redis://HOST:PORT, rediss:// (TLS), unix:///PATH, or cluster://"
        " and clusters:// (TLS) with some servers of a Redis Cluster, comma separated, of which one must answer: name"
        " a server and its replica, such as cluster://HOST:PORT,HOST:PORT. By default the fleet starts a private"
        " Redis in the home.",
    )
    timeout_seconds: float = Field(5, gt=0, description="Longest wait for one answer of Redis.")

    @field_validator("url")
    @classmethod
    def _scheme_is_known(cls, url: str) -> str:
        if url and not url.startswith(SCHEMES):
            known = f"{', '.join(SCHEMES[:-1])} or {SCHEMES[-1]}"
            raise ValueError(f"begin it with {known}, or leave it empty for a private Redis in the home")
        return url
