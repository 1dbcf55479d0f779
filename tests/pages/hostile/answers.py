"""The pages of this folder get these answers of the server."""

from __future__ import annotations

import asyncio
from typing import Final

from support.pages.feature import Answers, Question, Raw, Read, Write


async def _endless(question: Question, write: Write, read: Read) -> None:
    await write(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\r\n")
    for _ in range(5000):
        await write(b"x" * 1000)
        await asyncio.sleep(0.05)


async def _silent(question: Question, write: Write, read: Read) -> None:
    await asyncio.sleep(600)


ANSWERS: Final[Answers] = {
    "endless-download": {"endless.bin": Raw(_endless)},
    "silent-server": {"silent.gif": Raw(_silent)},
}
