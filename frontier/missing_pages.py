"""Redis stores how the sites of a job answer to URLs that do not exist, so that each folder is asked once in a job."""

from __future__ import annotations

from frontier.store import Store


class MissingPageAnswers:
    """The store has an answer for each kind of visitor and folder. It is safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, kind: str, folder: str) -> str | None:
        """Return the answer; None for the one caller that has to ask; an empty text while another one asks."""
        found: bytes | None = self._store.run("missing", f"{kind} {folder}")
        return None if found is None else found.decode()

    def put(self, kind: str, folder: str, answer: str) -> None:
        """Store an answer for all workers."""
        self._store.run("missing", f"{kind} {folder}", answer)
