"""The memory of links has the links for which the frontier would only find once more that they are known.

Most links of a page lead to URLs that the worker has seen on other pages. A link in the memory needs no canonical form,
no search by the patterns of the scope, no fingerprint and no place in the call to Redis. The memory belongs to one
process, and answers for as long as the answer can't change: a seen URL stays seen as long as the job exists and the
same server of Redis has it, and a URL that the scope rejects stays rejected as long as the scope is the same.
`Frontier` puts an empty memory in the place of the old one whenever one of these changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Final, NamedTuple

from archive.bounded_memory import BoundedMemory
from frontier.definition.job import Profile
from frontier.definition.scope import (
    BOUND_KEYS,
    Accepted,
    Candidate,
    Rejected,
    ScopeDecision,
    chain_limit,
    is_transclusion,
)

MOST_LINKS: Final = 60_000
"""Largest number of links in a half of the memory (`archive.bounded_memory`)."""
MOST_CHARACTERS: Final = 6_000_000
"""Largest number of characters of all links in a half."""
_LONGEST_URL: Final = 1_000
_KEPT_REASONS: Final = frozenset({"scope", "hops", "excluded", "deep-path", "repeating-path"})
"""These reasons depend on the scope and the URL alone, and the number of their rules is that of the profile."""


class KnownAnswer(NamedTuple):
    """The answer for a link has the reason for which the link is not added, and the rule."""

    reason: str
    rule: str


SEEN: Final = KnownAnswer("seen", "")
PERHAPS_SEEN: Final = KnownAnswer("perhaps-seen", "seen.method bloom")
"""The Bloom filter has the link, and no queue has it: it was visited, or is new and is dropped in error."""
SEEN_REASONS: Final = frozenset({SEEN.reason, PERHAPS_SEEN.reason})


class LinkMemory:
    """The memory of one job in one process. It is safe to share between threads."""

    def __init__(
        self, profile: Profile, *, most_links: int = MOST_LINKS, most_characters: int = MOST_CHARACTERS
    ) -> None:
        self.stamp = b""
        """The stamp that Redis has for the job (`links.lua`); empty when no answer of Redis has told it."""
        self._of_shards: dict[int, bytes] = {}
        self._profile = profile
        self._keeps_rejections = not profile.rules and not profile.page_rules().may_set(*BOUND_KEYS)
        """False when a rejection may depend on more than the scope, the URL and the letter of its way."""
        self._known = BoundedMemory[KnownAnswer](most_links, most_characters)
        self._answers: dict[KnownAnswer, KnownAnswer] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of links, of which those in both halves of the memory count twice."""
        return len(self._known)

    def is_of(self, stamp: bytes) -> bool:
        """Return whether the memory has this stamp. The first stamp is taken over."""
        with self._lock:
            self.stamp = self.stamp or stamp
        return self.stamp == stamp

    def stamp_of(self, shard: int) -> bytes:
        """Return the stamp of one shard of the job; empty when no answer of Redis has told it."""
        return self._of_shards.get(shard, b"")

    def is_of_shard(self, shard: int, stamp: bytes) -> bool:
        """Return whether the memory has this stamp of a shard. The first stamp is taken over."""
        with self._lock:
            self.stamp = self.stamp or stamp
            return self._of_shards.setdefault(shard, stamp) == stamp

    def keys_of(self, candidates: Iterable[Candidate]) -> list[str | None]:
        """Return the key of each candidate; None for one about which the memory says nothing.

        A key has the URL, and a letter for what the scope takes from the way to the URL: whether there are too many
        links from the seed, and whether the URL is a part of a page. Seeds widen the scope, and a URL that is visited
        again was seen, so that neither has a key.
        """
        letters: dict[tuple[str, int], str] = {}
        keys: list[str | None] = []
        for candidate in candidates:
            way = candidate.hop_path, candidate.depth
            letter = letters.get(way)
            if letter is None:
                letter = letters[way] = self._letter(*way)
            has_key = letter and not (candidate.is_seed or candidate.force) and len(candidate.url) <= _LONGEST_URL
            keys.append(letter + candidate.url if has_key else None)
        return keys

    def answer(self, key: str | None) -> KnownAnswer | None:
        """Return the answer for a key; None when the memory has none."""
        return None if key is None else self._known.get(key)

    def keep(self, keys: Iterable[str | None], decisions: Iterable[ScopeDecision]) -> None:
        """Keep what the frontier has decided. An accepted link was added, so that it is seen from now on.

        A link whose canonical form is another text has no place in the memory.
        """
        for key, decision in zip(keys, decisions, strict=True):
            if key is None or decision.candidate.url != key[1:]:
                continue
            if isinstance(decision, Accepted) or decision.reason in SEEN_REASONS:
                self._known.put(key, SEEN)
            elif self._keeps_rejections and decision.reason in _KEPT_REASONS:
                answer = KnownAnswer(decision.reason, decision.rule)
                self._known.put(key, self._answers.setdefault(answer, answer))

    def _letter(self, hop_path: str, depth: int) -> str:
        """Return the letter of a way from the seed; empty when its redirects and embeds are too many in a row."""
        if chain_limit(hop_path) is not None:
            return ""
        profile = self._profile
        is_beyond = profile.hops is not None and depth > profile.hops
        return "pqrs"[2 * is_beyond + is_transclusion(hop_path, profile)]


def recalled(candidate: Candidate, answer: KnownAnswer) -> Rejected:
    """Return the decision about a candidate that the memory knows."""
    return Rejected(candidate, answer.reason, answer.rule)


def not_new(candidate: Candidate, answer: int) -> Rejected | None:
    """Return the decision about a candidate by the answer of the seen test (common.lua); None for a new one."""
    match answer:
        case 1:
            return None
        case 2:
            return recalled(candidate, PERHAPS_SEEN)
        case _:
            return recalled(candidate, SEEN)
