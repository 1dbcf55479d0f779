"""Search all files of a home for a secret, in the spellings in which programs write it."""

from __future__ import annotations

import base64
import gzip
import html
import json
import zlib
from pathlib import Path
from urllib.parse import quote, quote_plus


def spellings(secret: str) -> set[bytes]:
    """Return the secret as it is, escaped for URLs, HTML and JSON, and in the three alignments of base64."""
    raw = secret.encode()
    found = {raw, quote(secret, safe="").encode(), quote_plus(secret).encode(), html.escape(secret).encode()}
    found |= {json.dumps(secret)[1:-1].encode(), secret.encode("utf-16-le")}
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        found.add(coded[4 if shift else 0 : -2])
    return found


def files_with(secret: str, folder: Path) -> list[str]:
    """Return the files below the folder that have the secret, also inside gzip members."""
    wanted = spellings(secret)
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        texts = [data, *_members(data)]
        if any(each in text for each in wanted for text in texts):
            found.append(str(path.relative_to(folder)))
    return found


def _members(data: bytes) -> list[bytes]:
    found = []
    while data.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            found.append(unpacker.decompress(data))
        except (zlib.error, gzip.BadGzipFile):
            break
        data = unpacker.unused_data
    return found
