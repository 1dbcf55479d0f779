"""A page gets random numbers that its replay can repeat: each visit has a seed, which the page information keeps.

A page that chooses an advertisement or a variant at random chooses the same one in a QA visit with the same seed. The
numbers differ from visit to visit, and from document to document. `crypto.getRandomValues` is left alone.
"""

from __future__ import annotations

import secrets
from typing import Final

from browsers.engines.interface import InitScript

_SCRIPT: Final = """
(seed => {
  let state = seed | 0;
  for (const letter of location.href.slice(0, 2000)) state = (Math.imul(state, 31) + letter.codePointAt(0)) | 0;
  Math.random = new Proxy(Math.random, {apply: () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }});
})(SEED);
"""


def new_seed() -> int:
    """Return a random seed of 32 bits."""
    return secrets.randbits(32)


def random_script(seed: int) -> InitScript:
    """Return the script that gives documents the random numbers of a seed."""
    return InitScript(_SCRIPT.replace("SEED", str(seed & 0xFFFFFFFF)))
