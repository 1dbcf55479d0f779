"""The section `[admin]` controls the CDX server and the admin."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from archive.settings.values.base import Listed, Networks, Section

_PORTS: Final = {"http": 80, "https": 443}
_AUTHORITY: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?"
)


class AdminSettings(Section):
    """These settings control the CDX server and the admin."""

    host: str = Field(
        "127.0.0.1",
        description="Address of the CDX server and of the admin. An address that a network reaches needs"
        " admin.allow_clients.",
    )
    port: int = Field(8080, ge=0, le=65535, description="Port of the admin site. 0 picks a free port.")
    time_zone: str = Field(
        "",
        description="Time zone of new schedules, such as Europe/Copenhagen, for people who have not chosen one. By"
        " default that of the machine.",
    )
    replay_port: int = Field(
        8081,
        ge=0,
        le=65535,
        description="Port of the replay proxy that `ghostfleet up` runs beside the admin site. 0 picks a free port.",
    )
    cdx_port: int = Field(0, ge=0, le=65535, description="Port of the CDX server. 0 picks a free port.")
    cdx_token: str = Field(
        "",
        description="Secret with which clients may post CDX lines to the CDX server, in the field Authorization: Bearer"
        " SECRET. At least 16 characters. Empty refuses all posts.",
    )
    cdx_token_file: str = Field("", description="File that holds this secret in its first line.")
    allow_clients: Networks = Field(
        (),
        description="Networks whose clients may connect, comma separated, such as 10.20.0.0/16. Clients on this machine"
        " always may.",
    )
    host_names: Listed[str] = Field(
        (),
        description="Further names of the CDX server and of the admin in the Host header, comma separated. Their"
        " address and localhost always work.",
    )
    memento_url: str = Field(
        "",
        description="Address to which COLLECTION/TIMESTAMPid_/URL is added for the mementos in TimeMaps and for the"
        " TimeGate of the CDX server, such as https://replay.example.org/w/. Without it, both answer 404.",
        pattern=r"(https?://[!-~]+/)?",
    )
    public_url: str = Field(
        "",
        description="Address at which people reach the admin site through a TLS proxy, such as"
        " https://archive.example.org. Links in messages have the address, and cookies are Secure there. Its host name"
        " needs no entry in admin.host_names.",
    )
    trusted_proxies: Networks = Field(
        (),
        description="Networks of the TLS proxies in front of the admin site, comma separated, such as 127.0.0.1. Their"
        " headers X-Forwarded-For and X-Forwarded-Proto are believed.",
    )
    task_days: float = Field(
        7,
        ge=0,
        description="Days after which a WACZ package, or another task that was ordered in the admin site, is removed. 0"
        " keeps tasks until somebody removes them.",
    )
    upload_max_bytes: int = Field(
        20_000_000_000,
        ge=0,
        description="Largest WARC file, WACZ package or file of queues, in bytes, that people may upload in the admin"
        " site.",
    )
    part_retry_seconds: float = Field(
        60,
        gt=0,
        description="Seconds until `ghostfleet up` starts a part again that died six times in a row, such as the"
        " replay proxy.",
    )
    on_end_seconds: float = Field(300, gt=0, description="Longest run of the command of `crawl --on-end`.")

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, url: str) -> str:
        """Return scheme, host and port in lower case, without the port of the scheme."""
        if not url:
            return ""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not _AUTHORITY.fullmatch(parts.netloc):
            raise ValueError("write https:// or http:// and a host name, such as https://archive.example.org")
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise ValueError("the admin site has a host name of its own; leave out the path")
        return f"{parts.scheme}://{parts.netloc.lower().removesuffix(f':{_PORTS[parts.scheme]}')}"

    @property
    def site_names(self) -> tuple[str, ...]:
        """The names of the admin site in the Host header, beside its addresses and localhost."""
        public = urlsplit(self.public_url).hostname
        return (*self.host_names, public) if public else self.host_names
