"""The section `[urlfrontier]` controls the gRPC service by which other crawlers take URLs of a running crawl."""

from __future__ import annotations

from pydantic import Field

from archive.settings.values.base import Networks, Section


class UrlFrontierSettings(Section):
    """These settings control `ghostfleet frontier serve`."""

    host: str = Field(
        "127.0.0.1",
        description="Address of the service. An address that a network reaches needs urlfrontier.allow_clients.",
    )
    port: int = Field(7071, ge=0, le=65535, description="Port of the service. 0 picks a free port.")
    allow_clients: Networks = Field(
        (),
        description="Networks whose clients may call the service, comma separated, such as 10.20.0.0/16. Clients on"
        " this machine always may. The interface has no password and no encryption.",
    )
    most_calls: int = Field(
        64, ge=2, le=1_024, description="Most calls at a time; further ones are answered RESOURCE_EXHAUSTED."
    )
    most_urls: int = Field(1_000, ge=1, le=100_000, description="Most URLs that one call of GetURLs hands out.")
