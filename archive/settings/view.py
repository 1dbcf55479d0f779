"""The section `[view]` controls the viewer, which shows archived pages in any browser without a proxy setting."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator

from archive.settings.values.base import Listed, Networks, Section

_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?"
_ORIGIN: Final = re.compile(rf"https?://(?:\*\.)?{_HOST}")


class ViewSettings(Section):
    """These settings control the viewer and the player that it loads."""

    host: str = Field(
        "127.0.0.1",
        description="Address of the viewer. An address that a network reaches needs view.password or"
        " view.allow_clients.",
    )
    port: int = Field(8082, ge=0, le=65535, description="Port of the viewer. 0 picks a free port.")
    password: str = Field("", description="Password that browsers ask for, with any user name. Empty asks for none.")
    allow_clients: Networks = Field(
        (),
        description="Networks whose clients may connect, comma separated, such as 10.20.0.0/16. Clients on this machine"
        " always may.",
    )
    host_names: Listed[str] = Field(
        (),
        description="Further names of the viewer in the Host header, comma separated. Its address and localhost always"
        " work.",
    )
    origin: str = Field(
        "",
        description="Address of the viewer for browsers, such as https://replay.example.org, when a server in front of"
        " it has another one. Its host must not be that of the admin site.",
    )
    collection_origin: str = Field(
        "",
        description="Address at which browsers run archived pages, such as https://*.replay.example.org. The star"
        " stands for a label for each collection, so that pages of one collection can't read another. Without a star,"
        " all collections share the address. Empty is `http://*.localhost` on the reader's own machine; elsewhere no"
        " archived script runs. Needs view.origin.",
    )
    frame_ancestors: Listed[str] = Field(
        (),
        description="Origins of other sites whose pages may show archived pages in a frame, comma separated, such as"
        " https://exhibition.example.org. Empty allows none.",
    )
    player: str = Field(
        "",
        description="Folder with the files of the npm package replaywebpage, or its tarball. Empty is the copy that"
        " `ghostfleet view --fetch-player` keeps in the home.",
    )
    fetch_player: bool = Field(
        True,
        description="Whether a viewer that starts without the player fetches it by npm into the home. A failure is"
        " logged, and the viewer goes on.",
    )
    collect_misses: bool = Field(
        False,
        description="Whether URLs that readers ask for and that the archive lacks are counted for each collection, so"
        " that people can have them captured. Nothing about readers is kept, and no URL with a query.",
    )
    misses_per_day: int = Field(
        500,
        ge=1,
        le=10_000,
        description="Most URLs that view.collect_misses keeps of one collection on one day. They are kept for 30 days.",
    )
    link_seconds: int = Field(
        28_800, ge=300, le=2_592_000, description="How long a link of the admin site to the viewer works, at least."
    )

    @field_validator("origin")
    @classmethod
    def _is_an_origin(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/")):
            raise ValueError("write a scheme and a host alone, such as https://replay.example.org")
        return value.rstrip("/")

    @field_validator("collection_origin")
    @classmethod
    def _is_an_origin_beside_the_viewers(cls, value: str, others: ValidationInfo) -> str:
        found, own = value.rstrip("/"), others.data.get("origin", "")
        if value and not _ORIGIN.fullmatch(found):
            raise ValueError("write a scheme and a host alone, such as https://*.replay.example.org")
        if value and not own:
            raise ValueError("set view.origin, the address of the viewer itself, too")
        if value and urlsplit(found).hostname == urlsplit(own).hostname:
            raise ValueError("write another host than that of view.origin")
        return found

    @field_validator("frame_ancestors")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            if not _ORIGIN.fullmatch(each):
                raise ValueError(f"{each!r} is no origin; write a scheme and a host alone, such as https://example.org")
        return value
