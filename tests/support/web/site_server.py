"""The admin site as a browser sees it: a real server on a free port of the loopback, with people who can log in."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.people.invitations import NewInvitation, first_invitation, invite
from admin.site.assembly import make_server
from archive.settings.load import load

PASSWORD = "a long enough password"


class RunningSite:
    """A site that runs; `client` makes browsers that are logged in."""

    def __init__(self, address: str, database: Database, home: Path) -> None:
        self.address = address
        self.home = home
        self.database = database

    def link(self, role: Role = Role.ADMINISTRATOR) -> str:
        """The path of a one-time link for a new user with this role."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            made = first_invitation(transaction) if role is Role.ADMINISTRATOR else None
            return f"/welcome/{(made or invite(transaction, NewInvitation(role=role))).token}"

    @contextmanager
    def client(self, role: Role | None = None) -> Iterator[httpx.Client]:
        """A browser; with a role, one in which a new user of that role is logged in."""
        with httpx.Client(base_url=self.address, timeout=120) as client:
            if role is not None:
                path = self.link(role)
                values = {"name": f"the-{role}", "password": PASSWORD, "repeated": PASSWORD}
                answer = send_form(client, path, zone="Europe/Copenhagen", **values)
                assert answer.status_code == 303, answer.text
            yield client


def send_form(client: httpx.Client, path: str, to: str = "", **values: str) -> httpx.Response:
    """Load a page, and send its form with these values; `to` is the form's address when it is another."""
    token = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
    assert token is not None, f"{path} has no form"
    return client.post(to or path, data={"csrf_token": token[1], **values})


@contextmanager
def running_site(database: Database, home: Path, more: Mapping[str, Any] | None = None) -> Iterator[RunningSite]:
    """Run the site until the end of the block; `more` are further settings, which the database gets too."""
    home.mkdir(parents=True, exist_ok=True)
    settings = load({"home": str(home), **(more or {})}, environment={})
    if more:
        database.settings = settings
    listening = socket.create_server(("127.0.0.1", 0))
    server = make_server(database, settings)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield RunningSite(f"http://127.0.0.1:{listening.getsockname()[1]}", database, home)
    finally:
        server.stop()
        thread.join(30)
        listening.close()
        assert not thread.is_alive()
