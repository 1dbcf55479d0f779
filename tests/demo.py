"""What `./run demo` does: crawls the bundled site with ghosts, takes the site away, and looks at the replay.

Everything is the real thing: the same command that anyone would type, a browser, WARC files. The exit code is 0 only
when every page of the site was captured, looks in the replay as it did in the crawl, and nothing was asked of the
network while looking.
"""

from __future__ import annotations

import argparse
import io
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from demo_looks import CHANNEL_TOLERANCE, SHARE_TOLERANCE, Likeness, compare, read_views
from demo_replay import browsing, replaying, tripwire, visit_page
from PIL import Image
from rich.console import Console
from rich.table import Table
from support.browsers.watched_garden import WatchedGarden

TOP: Final = Path(__file__).resolve().parent.parent
COLLECTION: Final = "demo"
PROFILE: Final = TOP / "tests" / "site" / "demo.toml"
SEED: Final = "http://www.garden.test/"
MARK: Final = "made-by-ghostfleet-demo"
"""A file in the demo's home: only a folder that has it is removed by the next demo."""
REACHED_BY: Final = {"https://www.garden.test/members.html": "http://www.garden.test/members"}
"""Some pages are linked only by way of a redirect. The value is the URL of the link, which a ghost visits."""
GHOSTFLEET: Final = (sys.executable, "-m", "admin.cli")


@dataclass(frozen=True, slots=True)
class Look:
    """A page as it was crawled and as it is replayed; None when one of the two is missing."""

    url: str
    likeness: Likeness | None

    @property
    def is_match(self) -> bool:
        """Whether the page looks the same."""
        return self.likeness is not None and self.likeness.is_match

    def cells(self) -> tuple[str, str, str]:
        """For the table: page, verdict, share of pixels that are off."""
        if self.likeness is None:
            return self.url, "[red]missing[/]", ""
        verdict = "[green]same[/]" if self.is_match else "[red]differs[/]"
        return self.url, verdict, f"{self.likeness.share:.3%}"


def main() -> int:
    """Runs the demo; the exit code."""
    options = _options()
    console = Console(highlight=False)
    home = fresh(options.home)
    console.print(f"[bold]1. Crawl[/]  {SEED} with {options.workers} ghosts, into {_shown(home)}", soft_wrap=True)
    with WatchedGarden() as site:
        command = crawl_command(site, home, options.workers)
        console.print("   ./run crawl", SEED, "--visitor browser …  (the site's names lead to 127.0.0.1)\n")
        status = run_to_its_end([*GHOSTFLEET, *command])
        asked = len(site.requests)
    if status:
        console.print(f"[red]the crawl ended with exit code {status}[/]; its logs are in {_shown(home / 'logs')}")
        return status
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that what was started is ended
    views = read_views(home / "collections" / COLLECTION / "archive")
    console.print(f"\n[bold]2. Replay[/]  the site is gone (it was asked {asked} times); only WARC files are left\n")
    with tripwire([site.http_port, site.https_port]) as wire:
        looks = look_again(home, site, views)
        escaped = wire.touched()
    _print_looks(console, looks, escaped)
    _print_places(console, home)
    return 0 if not escaped and all(look.is_match for look in looks) else 1


def run_to_its_end(command: Sequence[str]) -> int:
    """Runs a command in this terminal; its exit code. Signals are its business: Ctrl-C reaches it anyway."""
    with subprocess.Popen(command, cwd=TOP) as process:
        signal.signal(signal.SIGINT, lambda number, frame: None)
        signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
        status = process.wait()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return status


def crawl_command(site: WatchedGarden, home: Path, workers: int) -> list[str]:
    """Arguments of the `ghostfleet crawl` that harvests the site."""
    resolve = [part for name, address in site.resolve.items() for part in ("--resolve", f"{name}={address}")]
    fetch = ["--allow-private", "--upstream-ca", str(site.ca_pem), *resolve]
    job = ["--visitor", "browser", "--workers", str(workers), "--scope", "host", "--profile", str(PROFILE)]
    return ["crawl", SEED, "--home", str(home), "--collection", COLLECTION, *job, *fetch]


def look_again(home: Path, site: WatchedGarden, views: Mapping[str, bytes]) -> list[Look]:
    """Every page of the site and every other page that was captured, in the browser, through the replay."""
    pages = list(dict.fromkeys([*(REACHED_BY.get(url, url) for url in site.urls()), *views]))
    folder = home / "looks"
    folder.mkdir()
    command = [*GHOSTFLEET, "replay", COLLECTION, "--home", str(home), "--port", "0"]
    size = _size_of(next(iter(views.values()), b""))
    with replaying(command, TOP, site.resolve) as proxy, browsing(proxy, home, size) as new_context:
        return [
            _look(folder / f"{number:02}", url, views.get(url, b""), visit_page(new_context, url))
            for number, url in enumerate(pages)
        ]


def _look(stem: Path, url: str, before: bytes, after: bytes) -> Look:
    for name, picture in (("crawl", before), ("replay", after)):
        if picture:
            stem.with_name(f"{stem.name}-{name}.png").write_bytes(picture)
    return Look(url, compare(before, after) if before and after else None)


def _size_of(picture: bytes) -> tuple[int, int]:
    if not picture:
        return (1280, 1024)
    with Image.open(io.BytesIO(picture)) as image:
        return image.size


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run demo", description="Crawl the bundled site, replay it, compare.")
    parser.add_argument("--home", type=Path, default=Path("ghostfleet-data/demo"), help="made anew  [%(default)s]")
    parser.add_argument("--workers", type=int, default=2, help="ghosts at once  [%(default)s]")
    return parser.parse_args()


def fresh(home: Path) -> Path:
    """An empty folder; what the last demo left in it is removed, anything else is not touched."""
    home = home.absolute()
    if home.exists() and any(home.iterdir()):
        if not (home / MARK).exists():
            raise SystemExit(f"demo: {home} is not empty and no demo made it; choose another folder with --home")
        shutil.rmtree(home)
    home.mkdir(parents=True, exist_ok=True)
    (home / MARK).touch()
    return home


def _print_looks(console: Console, looks: Sequence[Look], escaped: int) -> None:
    table = Table(box=None, padding=(0, 2, 0, 3))
    table.add_column("page", no_wrap=True)
    table.add_column("replay is", no_wrap=True)
    table.add_column("pixels off", justify="right", no_wrap=True)
    for look in looks:
        table.add_row(*look.cells())
    console.print(table)
    word = "[green]nothing left the archive[/]" if not escaped else f"[red]{escaped} connections went out[/]"
    console.print(
        f"\n   {sum(look.is_match for look in looks)} of {len(looks)} pages look the same: at most "
        f"{SHARE_TOLERANCE:.1%} of the pixels are off,\n   that is by more than {CHANNEL_TOLERANCE} of 255 in a colour."
        f"\n   Meanwhile {word}: a wire across the\n   site's ports counted {escaped} connections.\n"
    )


def _print_places(console: Console, home: Path) -> None:
    rows = {
        "WARC files": home / "collections" / COLLECTION / "archive",
        "index": home / "collections" / COLLECTION / "indexes",
        "crawl.log, reports": home / "collections" / COLLECTION / "jobs",
        "screenshots": home / "looks",
    }
    console.print("[bold]3. Look for yourself[/]")
    for what, place in rows.items():
        console.print(f"   {what:20} {_shown(place)}", soft_wrap=True)
    console.print(f"   {'browse it':20} ./run open {COLLECTION} --home {_shown(home)}", soft_wrap=True)
    console.print(f"   {'prove the files':20} ./run check {_shown(rows['WARC files'])}", soft_wrap=True)


def _shown(path: Path) -> Path:
    """As seen from here, when it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    sys.exit(main())
