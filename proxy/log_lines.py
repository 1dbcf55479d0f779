"""What log lines about one exchange have in common: its id (`admin.logformat` shows it). Pure."""

from __future__ import annotations


def about(exchange: str) -> dict[str, str]:
    """The `extra` of a line about the exchange with that id; nothing for no id."""
    return {"exchange": exchange} if exchange else {}
