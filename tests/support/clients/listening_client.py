"""A client that hears one response, for what hands it over."""

from __future__ import annotations


class Ear:
    """A client that notes what it is told."""

    is_full = False
    remarks: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.heard = b""
        self.end = ""

    def send(self, data: bytes) -> None:
        self.heard += data

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        self.heard += last
        self.end += "keep" if keep_alive else "close"

    def abort(self) -> None:
        self.end += "abort"

    def upgraded(self) -> None:
        self.end += "upgraded"

    def take_more(self) -> None:
        self.end += "more"
