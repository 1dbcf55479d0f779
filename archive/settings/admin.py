"""The section `[admin]` controls the CDX server and the admin."""

from __future__ import annotations

from pydantic import Field, field_validator

from archive.settings.base import Section, checked_networks, listed


class AdminSettings(Section):
    """These settings control the CDX server and the admin."""

    host: str = Field(
        "127.0.0.1",
        description="Address of the CDX server and of the admin. An address that a network reaches needs"
        " admin.allow_clients.",
    )
    port: int = Field(8080, ge=0, le=65535, description="Port of the admin site. 0 picks a free port.")
    replay_port: int = Field(
        8081,
        ge=0,
        le=65535,
        description="Port of the replay proxy that `ghostfleet up` runs beside the admin site. 0 picks a free port.",
    )
    cdx_port: int = Field(0, ge=0, le=65535, description="Port of the CDX server. 0 picks a free port.")
    allow_clients: tuple[str, ...] = Field(
        (),
        description="Networks whose clients may connect, comma separated, such as 10.20.0.0/16. Clients on this machine"
        " always may.",
    )
    host_names: tuple[str, ...] = Field(
        (),
        description="Further names of the CDX server and of the admin in the Host header, comma separated. Their"
        " address and localhost always work.",
    )
    on_end_seconds: float = Field(300, gt=0, description="Longest run of the command of `crawl --on-end`.")

    @field_validator("allow_clients", "host_names", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return listed(value)

    @field_validator("allow_clients")
    @classmethod
    def _networks_can_be_read(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        return checked_networks(networks)
