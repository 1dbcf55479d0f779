"""A feature is one small page, with the resources that prove that a visitor did everything the page needs."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import parse_qs

HOST: Final = "www.features.test"
CDN: Final = "cdn.features.test"
ELSEWHERE: Final = "elsewhere.test"
INTERNATIONAL: Final = "xn--bcher-kva.features.test"
SHARDS: Final = tuple(f"img{number}.features.test" for number in range(1, 5))
HOSTS: Final = (HOST, CDN, ELSEWHERE, INTERNATIONAL, *SHARDS)
PICTURE: Final = re.compile(r"(\d+)x(\d+)-([\w-]+)\.png")
"""The name of a picture tells its size and its part: `40x30-wide.png`."""


class Question(NamedTuple):
    """A question is a request as the site reads it. Header names are in lower case."""

    scheme: str
    host: str
    method: str
    feature: Feature
    path: str
    """The path below the feature's folder."""
    query: str
    headers: Mapping[str, str]
    body: bytes
    memory: dict[str, int]
    """What the site counts for this feature. It is emptied when the page is fetched."""

    def parameter(self, name: str) -> str:
        """Return the first value of a parameter of the query or the posted form; empty when there is none."""
        text = f"{self.query}&{self.body.decode()}" if self.method == "POST" else self.query
        return parse_qs(text).get(name, [""])[0]

    def count(self, name: str) -> int:
        """Return how often this was called with this name since the page was fetched."""
        self.memory[name] = self.memory.get(name, 0) + 1
        return self.memory[name]


PASSWORD: Final = "leaf"
"""The password of all logins."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply is an HTTP response. `encoding` names the content coding that the server applies."""

    body: str | bytes = b""
    kind: str = "text/plain; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    encoding: str = ""
    chunked: bool = False
    wait_seconds: float = 0.0
    early: bytes = b""
    """Bytes that are sent before the head, such as an interim response."""
    trailers: tuple[tuple[str, str], ...] = ()


type Write = Callable[[bytes], Awaitable[None]]
type Read = Callable[[int], Awaitable[bytes]]


class Raw(NamedTuple):
    """A raw file writes its response itself, and the connection is closed afterwards."""

    write: Callable[[Question, Write, Read], Awaitable[None]]


type File = Reply | Raw | Callable[[Question], Reply]
type Answers = Mapping[str, Mapping[str, File]]
"""The files of features that are made by code, by the name of the feature and the path below it; the page has no path."""


class Act(NamedTuple):
    """An act is what a person does on the page: click, hover, drag, point, fill, select, press, login, or a script for `evaluate`."""

    kind: str
    selector: str = ""
    value: str = ""
    frame: str = ""


class Proof(NamedTuple):
    """A proof is a URL that must be captured: a pattern for the path and query below the page, and how often."""

    pattern: str
    count: int = 1


@dataclass(frozen=True)
class Feature:
    """A feature has a page at `https://www.features.test/NAME/`, which tells by itself whether it works."""

    name: str
    about: str
    body: str
    head: str = ""
    files: Mapping[str, File] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    """The page passes when all parts are done; without any, the names of all its pictures."""
    proofs: tuple[str | Proof, ...] = ()
    """Without any, all its pictures."""
    acts: tuple[Act, ...] = ()
    page: File | None = None
    """Answers for the page itself, when the plain page is not enough."""
    seconds: float = 20.0
    """A person waits this long for the page."""
    scheme: str = "https"
    is_hostile: bool = False
    """Whether the page tries to hold the visitor."""
    nonce: str = ""
    login: tuple[str, ...] = ()
    """Options of `profile browser create` for the login that a ghost needs; the password is `PASSWORD`."""
    gap: str = ""
    """Why ghosts do not capture the feature, or why it is not replayed; empty when both work."""

    @property
    def url(self) -> str:
        """Return the URL of the page."""
        return f"{self.scheme}://{HOST}/{self.name}/"

    @property
    def all_parts(self) -> tuple[str, ...]:
        """Return what has to be done for the page to pass."""
        return self.parts or tuple(dict.fromkeys(match[2] for match in self._pictures()))

    @property
    def all_proofs(self) -> tuple[Proof, ...]:
        """Return what has to be captured."""
        if self.proofs:
            return tuple(Proof(each) if isinstance(each, str) else each for each in self.proofs)
        return tuple(Proof(f"(.*/)?{re.escape(name)}") for name in dict.fromkeys(m[3] for m in self._pictures()))

    def text(self, body: str | None = None) -> str:
        """Return the HTML of the page, or of another document with this body that tells the same parts."""
        nonce = f' nonce="{self.nonce}"' if self.nonce else ""
        script = HARNESS.replace("NAME", self.name).replace("PARTS", repr(list(self.all_parts)))
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{self.name}</title>'
            f"<script{nonce}>{script}</script>{self.head}</head><body><h1>{self.about}</h1>{self.body if body is None else body}</body></html>"
        )

    def _pictures(self) -> list[tuple[str, str, str, str]]:
        texts = [self.head, self.body]
        for file in self.files.values():
            if isinstance(file, Reply):
                texts.append(file.body if isinstance(file.body, str) else "")
        return [(m[1], m[2], m[3], m[0]) for text in texts for m in PICTURE.finditer(text)]


HARNESS: Final = """
const proof = (() => {
  const root = document.documentElement, missing = new Set(PARTS);
  const show = () => {
    root.dataset.missing = [...missing].join(" ");
    root.dataset.result = missing.size ? "wait" : "pass";
    document.title = "NAME: " + root.dataset.result;
  };
  const done = part => { if (missing.delete(part)) show(); };
  const sized = (url, width, height) => {
    const found = /(\\d+)x(\\d+)-([\\w-]+)\\.png/.exec(url || "");
    if (found && width === +found[1] && height === +found[2]) done(found[3]);
  };
  const seen = element => {
    if (element instanceof HTMLImageElement) sized(element.currentSrc, element.naturalWidth, element.naturalHeight);
  };
  const watch = tree => tree.addEventListener("load", event => seen(event.target), true);
  const add = (src, where) => {
    const image = new Image();
    image.onload = () => seen(image);
    image.src = src;
    (where || document.body).append(image);
    return image;
  };
  const resource = (path, part) => new PerformanceObserver(list => {
    for (const entry of list.getEntries())
      if (entry.name.split("/").pop().split("?")[0] === path && entry.responseStatus === 200) done(part);
  }).observe({type: "resource", buffered: true});
  const text = async (url, expected, part, init) => {
    const answer = await fetch(url, init);
    const body = await answer.text();
    if (answer.ok && body === expected) done(part);
    return body;
  };
  watch(document);
  window.addEventListener("message", event => event.data && event.data.part && done(event.data.part));
  show();
  return {add, done, resource, seen, sized, text, watch, missing: () => [...missing]};
})();
"""


def css(text: str) -> Reply:
    """Return a style sheet."""
    return Reply(text, "text/css; charset=utf-8")


def js(text: str, *headers: tuple[str, str]) -> Reply:
    """Return a script."""
    return Reply(text, "text/javascript; charset=utf-8", headers=headers)


def data(text: str, *headers: tuple[str, str]) -> Reply:
    """Return a JSON document."""
    return Reply(text, "application/json", headers=headers)


def page(body: str, *headers: tuple[str, str]) -> Reply:
    """Return a further HTML document."""
    return Reply(f"<!doctype html><meta charset=utf-8><body>{body}", "text/html; charset=utf-8", headers=headers)


def png(path: str, size: tuple[int, int]) -> bytes:
    """Return a picture in a colour of its own."""
    width, height = size
    colour = struct.pack(">I", zlib.crc32(path.encode()))[1:]
    rows = zlib.compress((b"\0" + colour * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
