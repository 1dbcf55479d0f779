"""This module has the rule by which a site counts as captured at all: one of its seeds gave a good answer. Pure.

A job without a good answer has failed, and the harvest of a domain without one is never complete. The end of a seed,
after its redirects and all tries, is one of these:

| end of the seed | good |
|---|---|
| status 2xx, or 304 (not modified) | yes |
| another status 3xx, whose target was visited for another seed | when no other seed of the site ended badly |
| status 4xx or 5xx, such as 401, 403, 404, 429, 500 and 503 | no |
| no answer: the name is not found, no connection, a timeout | no |
| a redirect out of scope | no |
| robots.txt forbids the seed | no |
| a quota, a rule of the proxy, the scope or an operator kept the seed from being fetched | no |
| not fetched yet | no |

A site without a seed has no good answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from admin.jobs.states import SeedState

_NOT_MODIFIED: Final = 304


def has_good_answer(seeds: Iterable[tuple[SeedState, int]]) -> bool:
    """Return whether one of a site's seeds, given by its state and its last code, gave a good answer."""
    has_redirect, is_any_bad = False, False
    for state, code in seeds:
        if state is not SeedState.ANSWERED:
            is_any_bad = True
        elif 300 <= code < 400 and code != _NOT_MODIFIED:
            has_redirect = True
        else:
            return True
    return has_redirect and not is_any_bad
