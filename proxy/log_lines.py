"""Log lines about one exchange have its id in common (`admin.fleet.log_format` shows it). Pure."""

from __future__ import annotations


def about(exchange: str) -> dict[str, str]:
    """Return the `extra` of a line about the exchange with that id; nothing for no id."""
    return {"exchange": exchange} if exchange else {}
