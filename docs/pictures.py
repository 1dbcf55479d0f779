"""This script makes the pictures of the documentation from a real `./run demo`: `.venv/bin/python docs/pictures.py`.

It needs tmux.

- `crawl.svg`: the progress view of the crawl, as the terminal showed it half-way
- `replay.png`: a page as it was crawled beside the same page in the replay
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont
from rich.console import Console
from rich.text import Text

TOP: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = TOP / "docs" / "pictures"
COLUMNS: Final = 108
ROWS: Final = 50
LOOK_SECONDS: Final = 0.25
SHOWN_PAGE: Final = "00"
"""Number of the page shown in replay.png: the home page."""
CRAWLING: Final = "1. Crawl"
REPLAYING: Final = "2. Replay"


def main() -> int:
    """Run the demo in a terminal, write the pictures, and return the demo's exit code."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="garden-") as folder:
        status = Path(folder) / "status"
        screens = list(screens_of(f"cd {folder}; {TOP}/run demo", status))
        crawling = [screen for screen in screens if CRAWLING in screen and REPLAYING not in screen]
        write_svg("crawl", crawling[len(crawling) * 2 // 3], "./run demo")
        write_pair(Path(folder) / "ghostfleet-data" / "demo" / "looks")
        return int(status.read_text())


def screens_of(command: str, status: Path) -> Iterator[str]:
    """Run a command in a terminal; yield its screen with colours, a few times a second, the last one after its end.

    `status` is where the command's exit code is written.
    """
    pause = threading.Event()
    shell = f"export COLORTERM=truecolor; {command}; echo $? > {status}.new; mv {status}.new {status}; cat"
    with terminal(shell) as tmux:
        while not status.exists():
            pause.wait(LOOK_SECONDS)
            yield tmux("capture-pane", "-p", "-e")
        yield tmux("capture-pane", "-p", "-e")


@contextmanager
def terminal(shell_command: str) -> Iterator[Callable[..., str]]:
    """Open a terminal that runs a shell command; yield a function that asks tmux about it."""
    server = f"ghostfleet-{os.getpid()}"

    def tmux(*arguments: str) -> str:
        return subprocess.run(["tmux", "-L", server, *arguments], check=True, capture_output=True, text=True).stdout

    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), shell_command)
    try:
        yield tmux
    finally:
        tmux("kill-server")


def write_svg(name: str, screen: str, title: str) -> None:
    """Write the screen as a picture without rich's web font, so that the picture fetches nothing."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(screen.rstrip()), soft_wrap=True)
    svg = console.export_svg(title=title)
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    (PICTURES / f"{name}.svg").write_text(svg, "utf-8")


def write_pair(looks: Path) -> None:
    """Write the page as crawled and as replayed, side by side, with a title above each."""
    pair = [Image.open(looks / f"{SHOWN_PAGE}-{kind}.png").convert("RGB") for kind in ("crawl", "replay")]
    _beside(pair, ("in the crawl", "in the replay, with the site gone")).save(PICTURES / "replay.png", optimize=True)


def _beside(pictures: Sequence[Image.Image], labels: Sequence[str]) -> Image.Image:
    width, gap, top = 800, 16, 44
    scaled = [picture.resize((width, picture.height * width // picture.width)) for picture in pictures]
    height = max(picture.height for picture in scaled)
    sheet = Image.new("RGB", (width * len(scaled) + gap * (len(scaled) - 1), height + top), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (picture, label) in enumerate(zip(scaled, labels, strict=True)):
        left = number * (width + gap)
        pen.text((left + 4, 8), label, fill="#26332a", font=ImageFont.load_default(size=24))
        sheet.paste(picture, (left, top))
    return sheet


if __name__ == "__main__":
    sys.exit(main())
