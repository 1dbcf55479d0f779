"""Features of pages that hold a visitor. Each shows its picture first; the visit has to end by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from feature_site.feature import Feature, Question, Raw, Reply

type _Write = Callable[[bytes], Awaitable[None]]
type _Read = Callable[[int], Awaitable[bytes]]


async def _endless(question: Question, write: _Write, read: _Read) -> None:
    await write(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\r\n")
    for _ in range(5000):
        await write(b"x" * 1000)
        await asyncio.sleep(0.05)


async def _silent(question: Question, write: _Write, read: _Read) -> None:
    await asyncio.sleep(600)


_AFTER: Final = "<script>const start = work => { const wait = () => document.documentElement.dataset.result === 'pass' ? setTimeout(work, 700) : setTimeout(wait, 50); wait(); };"


def _hostile(name: str, about: str, script: str, **files: Raw | Reply) -> Feature:
    return Feature(
        name,
        about,
        f"<img src='101x10-first.png'>{_AFTER}{script}</script>",
        files={key.replace("_", "."): file for key, file in files.items()},
        seconds=30,
        is_hostile=True,
    )


HOSTILE: Final = (
    _hostile("hang", "A script of the page never ends.", "start(() => { for (;;); });"),
    _hostile(
        "endless-download",
        "A script fetches a file that never ends.",
        "start(async () => { await (await fetch('endless.bin')).text(); });",
        endless_bin=Raw(_endless),
    ),
    _hostile(
        "silent-server",
        "A picture is never answered.",
        "start(() => proof.add('silent.gif'));",
        silent_gif=Raw(_silent),
    ),
    _hostile(
        "many-windows",
        "The page opens a hundred windows.",
        "start(() => { for (let n = 0; n < 100; n++) open(`about:blank?${n}`); });",
    ),
    _hostile(
        "many-dialogs",
        "The page calls alert without end.",
        "start(() => { const again = () => { alert('again'); setTimeout(again, 10); }; again(); });",
    ),
    _hostile("reload", "The page reloads for ever.", "start(() => location.reload());"),
    _hostile(
        "allocate",
        "The page allocates memory for ever.",
        "start(() => { const all = []; setInterval(() => all.push(new Uint8Array(2e7).fill(7)), 30); });",
    ),
    _hostile(
        "growing-page",
        "The page grows whenever it is scrolled.",
        "addEventListener('scroll', () => { for (let n = 0; n < 5; n++) document.body.append(document.createElement('p')); document.body.style.minHeight = document.body.scrollHeight + 900 + 'px'; });",
    ),
    _hostile(
        "endless-clicks",
        "Each click makes two more buttons.",
        "const more = () => { const b = document.createElement('button'); b.textContent = 'Load more'; b.onclick = () => { more(); more(); fetch('ok.txt?' + Math.random()); }; document.body.append(b); }; more();",
        ok_txt=Reply("ok"),
    ),
)
