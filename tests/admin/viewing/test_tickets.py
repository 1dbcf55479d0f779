"""admin/viewing/tickets.py: who made a ticket, for what, and until when."""

from __future__ import annotations

from pathlib import Path

import pytest

from admin.viewing.tickets import PATH, Ticket, TicketKey, ticket_key

NOW = 1_800_000_000.0
HOUR = 3600


@pytest.mark.parametrize("collection", ["news", "~", "a.b-c_d", None])
def test_a_ticket_is_good_for_its_collection_until_its_hour_ends(collection: str | None) -> None:
    key = TicketKey(b"k" * 32)
    name = None if collection == "~" else collection
    ticket = key.issue(name, NOW, HOUR)
    found = PATH.fullmatch(f"/s/{ticket}/c/news/")
    assert found is not None
    assert (found[2], found[3]) == (ticket, "/c/news/")
    read = key.read(ticket, NOW)
    assert read is not None
    assert NOW + HOUR <= read.expires < NOW + 2 * HOUR
    assert read.collection == name
    assert key.read(ticket, read.expires - 1) == read
    assert key.read(ticket, read.expires) is None


def test_the_tickets_of_one_hour_are_equal() -> None:
    key = TicketKey(b"k" * 32)
    start = NOW - NOW % HOUR + 1
    assert key.issue("news", start, HOUR) == key.issue("news", start + HOUR - 2, HOUR)
    assert key.issue("news", start, HOUR) != key.issue("news", start + HOUR, HOUR)


def test_a_changed_ticket_is_refused() -> None:
    key = TicketKey(b"k" * 32)
    ticket = key.issue("news", NOW, HOUR)
    expires, signature, name = ticket.split(".", 2)
    for text in (
        f"{int(expires) + 1}.{signature}.{name}",
        f"{expires}.{signature}.other",
        f"{expires}.{signature}.~",
        f"{expires}.{signature[:-1]}.{name}",
        f"{expires}.{'A' * 22}.{name}",
        f"{expires}.ä.{name}",
        f"٣{expires}.{signature}.{name}",
        "",
        "..",
        ticket + "/",
    ):
        assert key.read(text, NOW) is None, text
    assert TicketKey(b"x" * 32).read(ticket, NOW) is None


def test_the_key_of_a_home_stays_and_is_its_owners_alone(tmp_path: Path) -> None:
    ticket = ticket_key(tmp_path).issue(None, NOW, HOUR)
    assert ticket_key(tmp_path).read(ticket, NOW) == Ticket(int(ticket.split(".")[0]), None)
    assert (tmp_path / "tickets.key").stat().st_mode & 0o777 == 0o600
