"""The section `[view]` controls the viewer, which shows archived pages in any browser without a proxy setting."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import Field, field_validator

from archive.settings.values.base import Section, checked_networks, listed


class ViewSettings(Section):
    """These settings control the viewer and the player that it loads."""

    host: str = Field(
        "127.0.0.1",
        description="Address of the viewer. An address that a network reaches needs view.password or"
        " view.allow_clients.",
    )
    port: int = Field(8082, ge=0, le=65535, description="Port of the viewer. 0 picks a free port.")
    password: str = Field("", description="Password that browsers ask for, with any user name. Empty asks for none.")
    allow_clients: tuple[str, ...] = Field(
        (),
        description="Networks whose clients may connect, comma separated, such as 10.20.0.0/16. Clients on this machine"
        " always may.",
    )
    host_names: tuple[str, ...] = Field(
        (),
        description="Further names of the viewer in the Host header, comma separated. Its address and localhost always"
        " work.",
    )
    origin: str = Field(
        "",
        description="Address of the viewer for browsers, such as https://replay.example.org, when a server in front of"
        " it has another one. Its host must not be that of the admin site.",
    )
    player: str = Field(
        "",
        description="Folder with the files of the npm package replaywebpage, or its tarball. Empty is the copy that"
        " `ghostfleet view --fetch-player` keeps in the home.",
    )
    link_seconds: int = Field(
        28_800, ge=300, le=2_592_000, description="How long a link of the admin site to the viewer works, at least."
    )

    @field_validator("allow_clients", "host_names", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return listed(value)

    @field_validator("allow_clients")
    @classmethod
    def _networks_can_be_read(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        return checked_networks(networks)

    @field_validator("origin")
    @classmethod
    def _is_an_origin(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/")):
            raise ValueError("write a scheme and a host alone, such as https://replay.example.org")
        return value.rstrip("/")
