"""A replay session lets a browser see a collection as it was at a date, through a proxy port of its own.

The replay proxy of `ghostfleet up` opens the session. The proxy is another origin than the admin site, and a browser
that uses it reaches nothing but the archive.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import httpx
from pydantic import Field

from admin.collections.browsing.index import check_collection, index_if_any
from admin.fleet import home_folder
from admin.fleet.fleet import Addresses
from admin.fleet.installation_file import read_installation
from admin.fleet.process import StartError
from admin.models.errors import IllegalState
from admin.models.operation import InputModel, OutputModel
from admin.models.transaction import Right, Transaction
from admin.replay import open_window
from archive.program_name import command

MOST: Final = 20
"""The most sessions that are open at once; a new one closes the oldest."""
_SECONDS: Final = 10.0


class NewReplaySession(InputModel):
    """The date of the captures that a browser shall see."""

    datetime: str = Field(min_length=4, max_length=17, pattern=r"^[0-9]+$")
    """The date, in 4 to 17 digits: year, month, day, hour, minute, second."""


class ReplaySession(OutputModel):
    """A browser with this proxy sees the collection."""

    proxy: str
    """HOST:PORT of the HTTP proxy, for http and https."""
    authority: str
    """The CA certificate on the machine of the site, which the browser must trust for https."""
    chromium_options: list[str]
    """Options with which Chromium uses the proxy and trusts its certificates. The profile is an empty folder."""


def open_replay_session(transaction: Transaction, name: str, given: NewReplaySession) -> ReplaySession:
    """Open a session of the replay proxy. Raises NotFound, and IllegalState without a replay proxy."""
    transaction.require(Right.READ)
    settings = transaction.settings
    with index_if_any(settings) as index:
        check_collection(settings, index, name)
    installation = read_installation(settings.home)
    control = installation.addresses.get("replay_control", "") if installation else ""
    if installation is None or not control:
        raise IllegalState(
            f"no replay proxy runs beside this site; `{command('up')}` starts one, and `{command('replay')} {name}` too"
        )
    try:
        _close_oldest(control, home_folder.control_token(settings.home))
        addresses = Addresses(installation.addresses["replay"], (control,), "", "")
        window = open_window(settings, name, addresses, given.datetime)
    except (StartError, home_folder.HomeError, httpx.HTTPError) as error:
        raise IllegalState(f"the replay proxy at {control} opened no session: {error}") from error
    profile = Path("/tmp/ghostfleet-replay")
    return ReplaySession(
        proxy=window.proxy, authority=str(window.authority), chromium_options=window.chromium_flags(profile)
    )


def _close_oldest(control: str, token: str) -> None:
    """Close sessions until there is room for a new one."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(trust_env=False, timeout=_SECONDS, base_url=f"http://{control}", headers=headers) as client:
        answer = client.get("/sessions")
        answer.raise_for_status()
        names = list(answer.json())
        for name in names[: max(0, len(names) - MOST + 1)]:
            client.delete(f"/sessions/{name}")
