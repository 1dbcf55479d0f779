"""A table of our feature pages: what a ghost captures of each, and which of them replay offline.

Run it as `PYTHONPATH=. python tests/feature_table.py`. Every page is visited by a person at the site itself, which
proves the page; by ghosts of `ghostfleet crawl` or by a person through the recording proxy; and by a person through
`ghostfleet replay` when the site is gone. With `--viewer`, the person plays the pages in `ghostfleet view` instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from demo_replay import replaying, tripwire
from support.pages.catalogue import FEATURES, GROUPS
from support.pages.feature import PASSWORD, Feature
from support.pages.person import PageResult, browser, live, through, visit_all
from support.pages.site import FeatureSite
from support.pages.viewer import view, viewing
from support.proxy.running_proxy import RunningProxy

from archive.capture import Capture
from archive.dates import timestamp14
from archive.warc import cdxj
from bench.process import our_command, source_environment
from browsers.engines.chromium.trust import trusted_keys
from browsers.proxying.control_client import Control, ProxySession, SessionRequest, read_token

TOP: Final = Path(__file__).resolve().parent.parent
COLLECTION: Final = "features"
BRIEF_SECONDS: Final = 8.0
PROFILE: Final = TOP / "tests" / "support" / "pages" / "profile.yaml"


@dataclass(frozen=True, slots=True)
class Row:
    """A row has the results of one feature; None where a step was left out."""

    name: str
    is_live: bool | None
    not_captured: tuple[str, ...] | None
    is_replayed: bool | None
    not_replayed: str = ""
    seconds: float = 0.0
    """Duration of the ghost's visit."""

    @property
    def is_captured(self) -> bool | None:
        """Return whether every proof was captured."""
        return None if self.not_captured is None else not self.not_captured


def crawl(
    site: FeatureSite,
    home: Path,
    features: Sequence[Feature],
    workers: int = 2,
) -> subprocess.CompletedProcess[str]:
    """Let ghosts visit the features, each as a seed of its own. Those with a login are a job each."""
    home.mkdir(parents=True, exist_ok=True)
    open_to_all = [each for each in features if not each.login]
    jobs = [([each], _profile_with_login(site, home, each)) for each in features if each.login]
    jobs += [(open_to_all, PROFILE)] if open_to_all else []
    return [_crawl(site, home, members, workers, profile) for members, profile in jobs][-1]


def _profile_with_login(site: FeatureSite, home: Path, feature: Feature) -> Path:
    """Store the login of a feature, and return the profile of the job that uses the login."""
    options = ["--allow-private", "--upstream-ca", str(site.ca_pem), *_resolved(site)]
    made = subprocess.run(
        our_command("profile", "browser", "create", feature.name, "--home", str(home), *feature.login, *options),
        env={**source_environment(), "GHOSTFLEET_LOGIN_PASSWORD": PASSWORD},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    print(made.stdout)
    profile = home / f"{feature.name}.yaml"
    profile.write_text(f"{PROFILE.read_text('utf-8')}browser_profile: {feature.name}\n", "utf-8")
    return profile


def _resolved(site: FeatureSite) -> list[str]:
    return [part for name, address in site.resolve.items() for part in ("--resolve", f"{name}={address}")]


def _crawl(
    site: FeatureSite, home: Path, features: Sequence[Feature], workers: int, profile: Path
) -> subprocess.CompletedProcess[str]:
    seeds = home / "seeds.txt"
    seeds.write_text("".join(f"{feature.url}\n" for feature in features), "utf-8")
    fetch = ["--allow-private", "--upstream-ca", str(site.ca_pem), "--robots", "ignore", *_resolved(site)]
    job = [
        "--collection",
        COLLECTION,
        "--scope",
        "page",
        "--delay",
        "0",
        "--visitor",
        "browser",
        "--profile",
        str(profile),
    ]
    return subprocess.run(
        our_command("crawl", "--home", str(home), "--seeds-file", str(seeds), "--workers", str(workers), *job, *fetch),
        env=source_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3600,
        check=False,
    )


async def record(site: FeatureSite, home: Path, features: Sequence[Feature]) -> dict[str, PageResult]:
    """Let a person visit the features through the recording proxy, each in a session of its own."""
    names = ",".join(f"{name}={address}" for name, address in site.resolve.items())
    with (
        RunningProxy(home, {"proxy.resolve": names, "proxy.upstream_ca": site.ca_pem}) as proxy,
        Control(proxy.ready["controls"][0], read_token(home)) as control,
    ):
        sessions: dict[str, ProxySession] = {}

        async def proxy_of(feature: Feature) -> str:
            wanted = SessionRequest(COLLECTION, page_id=f"page-{feature.name}", page_url=feature.url, listen=True)
            sessions[feature.name] = await asyncio.to_thread(control.open, wanted)
            return sessions[feature.name].address

        async def after(feature: Feature) -> None:
            await asyncio.to_thread(control.finish, sessions[feature.name], wait_seconds=20)

        keys = trusted_keys(home, proxy.ready["proxy"])
        return await visit_all(features, partial(browser, keys), proxy_of, after)


def captures(home: Path) -> list[Capture]:
    """Return every response and revisit of the collection."""
    return [
        capture
        for path in sorted((home / "collections" / COLLECTION / "indexes").glob("*.cdxj"))
        for line in path.read_text("utf-8").splitlines()
        if (capture := cdxj.parse(line, COLLECTION)).kind in ("response", "revisit")
    ]


def missing_proofs(feature: Feature, found: Sequence[Capture]) -> tuple[str, ...]:
    """Return the proofs that the index lacks."""
    start = re.compile(rf"https?://[^/]+/{re.escape(feature.name)}/(.*)")
    paths = [
        match[1] for each in found if (each.status or 200) < 400 and (match := start.fullmatch(each.url)) is not None
    ]
    return tuple(
        proof.pattern
        for proof in feature.all_proofs
        if sum(re.fullmatch(proof.pattern, path) is not None for path in paths) < proof.count
    )


def replay(
    site_ports: Sequence[int], resolve: Mapping[str, str], home: Path, features: Sequence[Feature]
) -> tuple[dict[str, PageResult], int]:
    """Visit the features in a replay while the site is gone. Return the results, and how many connections escaped."""
    command = our_command("replay", COLLECTION, "--home", str(home), "--port", "0")
    with tripwire(site_ports) as wire:
        with replaying(command, TOP, resolve) as proxy:
            results = asyncio.run(through(features, proxy, trusted_keys(home, proxy)))
        return results, wire.touched()


def view_offline(
    site_ports: Sequence[int], resolve: Mapping[str, str], home: Path, features: Sequence[Feature]
) -> tuple[dict[str, PageResult], int]:
    """Play the features in the viewer while the site is gone. Return what `replay` returns."""
    dates = {each.url: timestamp14(each.date) for each in reversed(captures(home))}
    with viewing(home, COLLECTION) as address:
        return view(site_ports, resolve, address, COLLECTION, features, dates)


def table(
    features: Sequence[Feature],
    home: Path,
    *,
    by: str = "ghost",
    is_live: bool = True,
    workers: int = 2,
    is_viewed: bool = False,
) -> tuple[list[Row], int, str]:
    """Return a row for each feature, the number of connections that escaped from the replay, and the crawl's output."""
    alive: dict[str, PageResult] = {}
    said = ""
    with FeatureSite(features) as site:
        if is_live:
            alive = asyncio.run(live(site, features))
        if by == "ghost":
            said = crawl(site, home, features, workers).stdout
        elif by == "person":
            asyncio.run(record(site, home, features))
        ports, resolve = [site.http_port, site.https_port], site.resolve
    if by == "none":
        return [_row(feature, alive, None, {}) for feature in features], 0, said
    found = captures(home)
    # A page whose proofs are missing hardly passes, so that nobody waits for it as long.
    patient = [replace(each, seconds=BRIEF_SECONDS) if missing_proofs(each, found) else each for each in features]
    played, escaped = (view_offline if is_viewed else replay)(ports, resolve, home, patient)
    return [_row(feature, alive, found, played) for feature in features], escaped, said


def _row(
    feature: Feature, alive: Mapping[str, PageResult], found: Sequence[Capture] | None, played: Mapping[str, PageResult]
) -> Row:
    first, last = alive.get(feature.name), played.get(feature.name)
    return Row(
        feature.name,
        first.has_passed if first else None,
        None if found is None else missing_proofs(feature, found),
        last.has_passed if last else None,
        (last.missing if last and not last.has_passed else "")
        or (first.missing if first and not first.has_passed else ""),
    )


def summary(rows: Sequence[Row]) -> str:
    """Return how many pages are green, in one line."""
    counts = {
        "live": sum(row.is_live is True for row in rows),
        "captured": sum(row.is_captured is True for row in rows),
        "replayed": sum(row.is_replayed is True for row in rows),
    }
    return f"{len(rows)} pages; " + ", ".join(f"{name} {count}" for name, count in counts.items())


def main() -> int:
    """Make the table. The exit code is 1 when a page is not green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="features, or folders of `tests/pages`; all without any")
    parser.add_argument("--by", choices=("ghost", "person", "none"), default="ghost", help="who visits for the record")
    parser.add_argument("--replay-only", action="store_true", help="take what the home holds from an earlier run")
    parser.add_argument(
        "--viewer", action="store_true", help="replay in the player of `ghostfleet view`, without a proxy"
    )
    parser.add_argument("--no-live", action="store_true", help="leave the visits at the site itself out")
    parser.add_argument("--home", type=Path, help="an empty folder that is kept; a temporary one without it")
    parser.add_argument("--workers", type=int, default=2, help="number of ghosts")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    wanted = set(options.names)
    groups = {feature.name for name, group in GROUPS.items() if name in wanted for feature in group}
    features = [feature for feature in FEATURES if not wanted or feature.name in wanted | groups]
    with tempfile.TemporaryDirectory(prefix="features-home-", ignore_cleanup_errors=True) as folder:
        home = options.home or Path(folder) / "home"
        by = "before" if options.replay_only else options.by
        rows, escaped, said = table(
            features, home, by=by, is_live=not options.no_live, workers=options.workers, is_viewed=options.viewer
        )
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")
    print(said[-1500:])
    for row in rows:
        if False in (row.is_live, row.is_captured, row.is_replayed):
            print(
                f"{row.name}: live {row.is_live}, captured {row.is_captured}, replayed {row.is_replayed}; "
                f"not captured {list(row.not_captured or ())}, missing {row.not_replayed!r}"
            )
    print(summary(rows), f"; {escaped} connections escaped from the replay")
    return int(any(False in (row.is_live, row.is_captured, row.is_replayed) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
