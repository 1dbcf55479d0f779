"""Hosts whose names differ in a number alone give the same files: `img1.example.org` and `img4.example.org`.

A page may draw one of them at each visit. Names of other kinds, such as `blog12`, are different sites. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_MOST: Final = 10
"""Numbers that are tried: a network has few names for the same files."""
_HOST: Final = re.compile(r"([^)]*,)([a-z]{1,12}-?)([0-9]{1,2})(\)|:[0-9]+\))")
_LETTER: Final = re.compile(r"([^)]*,[a-z]*tiles?,)([a-h])(\)|:[0-9]+\))")
_NAMES: Final = frozenset(
    (
        *(
            "a",
            "asset",
            "assets",
            "c",
            "cdn",
            "cdn-",
            "content",
            "css",
            "edge",
            "f",
            "file",
            "files",
            "g",
            "i",
            "image",
        ),
        *(
            "images",
            "img",
            "img-",
            "js",
            "m",
            "media",
            "mt",
            "otile",
            "p",
            "photo",
            "photos",
            "pic",
            "pics",
            "s",
            "server",
        ),
        *("shard", "shard-", "st", "static", "static-", "t", "thumb", "thumbs", "tile", "tiles", "v", "vod", "video"),
    )
)


def shards(key: str) -> Iterator[str]:
    """Yield the keys of the same file at the other hosts of its network."""
    if (found := _HOST.match(key)) is not None and found[2] in _NAMES:
        rest = key[found.end() :]
        for number in range(_MOST):
            if str(number) != found[3]:
                yield f"{found[1]}{found[2]}{number}{found[4]}{rest}"
    elif (found := _LETTER.match(key)) is not None:
        for letter in "abcdefgh":
            if letter != found[2]:
                yield f"{found[1]}{letter}{found[3]}{key[found.end() :]}"
