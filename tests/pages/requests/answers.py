"""The pages of this folder get these answers of the server."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import zlib
from collections.abc import Callable
from typing import Final

import brotli
from support.pages.feature import Answers, Question, Raw, Read, Reply, Write, data, png


def _posts(question: Question) -> Reply:
    """Answer with a word of the body, so that each body has an answer of its own."""
    for word in ("apple", "pear", "plum", "quince"):
        if word.encode() in question.body:
            return Reply(f"you sent {word}")
    return Reply("nothing", status=400)


def _echo(question: Question) -> Reply:
    return Reply(f"{question.method} {hashlib.sha256(question.body).hexdigest()[:8]}")


def _preflight(question: Question) -> Reply:
    allowed = (
        ("Access-Control-Allow-Origin", "https://www.features.test"),
        ("Access-Control-Allow-Methods", "PUT, DELETE, POST"),
        ("Access-Control-Allow-Headers", "X-Feature, Content-Type"),
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Expose-Headers", "X-Answer"),
    )
    if question.method == "OPTIONS":
        return Reply(status=204, headers=allowed)
    if question.headers.get("x-feature") != "yes":
        return Reply("no header", status=400, headers=allowed)
    return Reply(f"{question.method} done", headers=(*allowed, ("X-Answer", "42")))


def _by_language(question: Question) -> Reply:
    language = question.headers.get("accept-language", "")[:2]
    word = {"de": "Blatt", "fr": "feuille"}.get(language, "leaf")
    return Reply(word, headers=(("Vary", "Accept-Language"), ("Cache-Control", "no-store")))


def _growing(question: Question) -> Reply:
    return data(f'{{"items": {question.count("asked")}}}', ("Cache-Control", "no-store"))


def _range(question: Question) -> Reply:
    whole = b"".join(b"%04d" % number for number in range(2500))
    wanted = question.headers.get("range", "").removeprefix("bytes=")
    if not wanted:
        return Reply(whole, "application/octet-stream", headers=(("Accept-Ranges", "bytes"),))
    first, _, last = wanted.partition("-")
    start, end = (int(first), int(last or len(whole) - 1)) if first else (len(whole) - int(last), len(whole) - 1)
    head = (("Content-Range", f"bytes {start}-{end}/{len(whole)}"), ("Accept-Ranges", "bytes"))
    return Reply(whole[start : end + 1], "application/octet-stream", 206, head)


def _coded(body: bytes, coding: str) -> Reply:
    return Reply(body, headers=(("Content-Encoding", coding),))


def _score(question: Question) -> Reply:
    """Answer 304 until the third request, then with a new state."""
    times = question.count("score")
    tag = '"v1"' if times < 3 else '"v2"'
    if question.headers.get("if-none-match") == tag:
        return Reply(status=304, headers=(("ETag", tag),))
    return data(f'{{"goals": {0 if times < 3 else 1}}}', ("ETag", tag), ("Cache-Control", "no-cache"))


def _with_cookie(name: str) -> Callable[[Question], Reply]:
    def answer(question: Question) -> Reply:
        if f"{name}=yes" in question.headers.get("cookie", ""):
            return Reply("welcome")
        return Reply("no cookie", status=403)

    return answer


def _unauthorized(question: Question) -> Reply:
    return Reply("secret", status=401, headers=(("WWW-Authenticate", 'Basic realm="Pictures"'),))


_NO_STORE: Final = ("Cache-Control", "no-store")


def _patched(question: Question) -> Reply:
    """Answer by what the patch says."""
    return data(json.dumps({"title": json.loads(question.body)["title"].upper()}), _NO_STORE)


def _note(question: Question) -> Reply:
    """Keep a counter that PUT and DELETE change and GET shows."""
    if question.method == "PUT":
        question.memory["note"] = int(question.body)
        return Reply(status=204)
    if question.method == "DELETE":
        question.memory["note"] = 0
        return Reply(status=204)
    return data(json.dumps({"note": question.memory.get("note", -1)}), _NO_STORE)


_ATLAS: Final = b'"448x20-first.png"'.ljust(200) + b'"448x21-second.png"'.ljust(200)


def _two_ranges(question: Question) -> Reply:
    """Answer several ranges in one multipart body."""
    wanted = question.headers.get("range", "").removeprefix("bytes=")
    if "," not in wanted:
        return Reply(_ATLAS, "application/octet-stream", headers=(("Accept-Ranges", "bytes"),))
    body = b""
    for each in wanted.split(","):
        first, last = (int(part) for part in each.strip().split("-"))
        head = f"\r\n--leafcut\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {first}-{last}/{len(_ATLAS)}\r\n\r\n"
        body += head.encode() + _ATLAS[first : last + 1]
    return Reply(body + b"\r\n--leafcut--\r\n", "multipart/byteranges; boundary=leafcut", 206)


_TRACK: Final = random.Random(7).randbytes(240_000)


def _pieces(question: Question) -> Reply:
    """Answer a range of a file that has no whole answer."""
    found = re.fullmatch(r"bytes=(\d+)-(\d+)", question.headers.get("range", ""))
    if found is None:
        return Reply("ask for a range", status=416)
    first, last = int(found[1]), min(int(found[2]), len(_TRACK) - 1)
    about = ("Content-Range", f"bytes {first}-{last}/{len(_TRACK)}")
    return Reply(_TRACK[first : last + 1], "application/octet-stream", status=206, headers=(about,))


def _old(head: bytes, body: bytes) -> Raw:
    """Return a file whose response has no length, and ends with the connection."""

    async def write(question: Question, send: Write, read: Read) -> None:
        await send(head)
        await send(body)

    return Raw(write)


def _session(question: Question) -> Reply:
    """Answer the origin that asks, and no other."""
    origin = question.headers.get("origin", "")
    name = "frame" if "cdn" in origin else "page"
    return data(
        json.dumps({"picture": f"/vary-origin/375x2{len(name)}-{name}.png"}),
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Credentials", "true"),
        ("Vary", "Origin"),
    )


ANSWERS: Final[Answers] = {
    "fetch-post": {"api": _posts},
    "xhr": {"c.bin": Reply(b"\0\xff\0", "application/octet-stream")},
    "keepalive": {
        "kept": _echo,
        "beacon": lambda q: Reply(status=204),
    },
    "cors-preflight": {"api": _preflight},
    "methods": {"thing": lambda q: Reply(_echo(q).body, headers=(("X-Kind", "thing"),))},
    "vary-language": {"word.txt": _by_language},
    "growing": {"items": _growing},
    "ranges": {"numbers.bin": _range},
    "codings-odd": {
        "xgzip": _coded(gzip.compress(b"leaf", mtime=0), "x-gzip"),
        "raw": _coded(zlib.compress(b"leaf")[2:-4], "deflate"),
        "both": _coded(brotli.compress(gzip.compress(b"leaf", mtime=0)), "gzip, br"),
    },
    "etag-polling": {"score": _score},
    "redirects": {"echo": _echo},
    "cookies": {
        "page.txt": _with_cookie("page"),
        "script.txt": _with_cookie("script"),
    },
    "refused-resource": {
        "secret.gif": _unauthorized,
        "secret.txt": _unauthorized,
    },
    "patch-answers": {"items/1": _patched},
    "changed-resource": {"notes/1": _note},
    "multipart-ranges": {"atlas.bin": _two_ranges},
    "uneven-pieces": {"track.bin": _pieces},
    "old-server": {
        "photos/one": _old(
            b"HTTP/1.0 200 OK\r\nSERVER: Leafd/0.9\r\nCONTENT-TYPE:image/png\r\n\r\n",
            png("old-server/one", (459, 20)),
        ),
        "script.js": _old(
            b"HTTP/1.1 200 \r\ncontent-type:   application/x-javascript  \r\nConnection: close\r\n\r\n",
            b"proof.done('script');",
        ),
        "plain.txt": _old(b"HTTP/1.0 200 Document follows\r\nContent-type: text/plain\r\nX-Empty:\r\n\r\n", b"leaf"),
    },
    "vary-origin": {"api/session": _session},
}
