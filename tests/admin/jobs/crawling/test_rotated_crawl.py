"""A crawl whose logs are rotated after nearly every line: real processes, a real site, all readers."""

from __future__ import annotations

from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import Command

from admin.capture_sessions.session_log import SessionLog, last_kept_urls
from admin.collections.transfer.packaging import _pieces
from admin.jobs.progress.tally import LogFollower
from archive.rotated_log import log_size, open_log, renamed_parts
from archive.settings.load import Settings

PAGES = 6
DEAD = "http://127.0.0.1:9/"


def _rows(settings: Settings, *arguments: str) -> list[dict[str, object]]:
    with Command("job", *arguments, "--json", home=settings.home) as command:
        assert command.ended() == 0, command.stderr
    return command.lines


def test_reports_and_commands_know_all_lines_of_a_rotated_log(settings: Settings) -> None:
    environment = {
        "GHOSTFLEET_LOGS__ROTATE_BYTES": "200",
        "GHOSTFLEET_LOGS__LINKS": "on",
        "GHOSTFLEET_FRONTIER__RETRY_SECONDS": "0",
        "GHOSTFLEET_FRONTIER__MAX_RETRIES": "1",
    }
    flags = ("--collection", "garden", "--job", "small", "--allow-private", "--delay", "0", "--json", "--workers", "2")
    with ChainSite(PAGES) as site:
        with Command("crawl", site.url, DEAD, "--scope", "page", *flags, home=settings.home, **environment) as crawl:
            crawl.ended()
        (folder,) = settings.collection("garden").glob("jobs/small-*")
        log = folder / "crawl.log"
        assert len(renamed_parts(log)) >= 2
        lines = list(LogFollower(log).lines())
        counted = [line for line in lines if not line.extra.get("annotates")]
        report = (folder / "crawl-report.txt").read_text()
        assert f"URIs processed: {len(counted)}\n" in report
        found = _rows(settings, "attempts", "small")
        assert [row["url"] for row in found] == [line.url for line in lines][::-1]
        kept = [row for row in found if row["url"] == site.url]
        assert [(row["code"], row["tries"]) for row in kept] == [(200, 1)]
        assert (settings.archive_dir("garden") / str(kept[0]["file"])).exists()
        assert isinstance(kept[0]["offset"], int)
        failed = _rows(settings, "attempts", "small", "--failed", "--prefix", DEAD)
        assert {row["reason"] for row in failed} == {"no connection"}
        assert [row["tries"] for row in failed if row["url"] == DEAD] == [2]
        links = _rows(settings, "links", "small", "--reason", "scope", "--host", site.url.split("/")[2])
        assert links
        assert all(row["via"] == site.url and row["hop_path"] for row in links)

        with open_log(log) as file:
            whole = file.read()
        assert b"".join(_pieces(log, [(0, log_size(log))])) == whole
        session = SessionLog(folder)
        list(session.read())
        assert session.urls == sum(line.code > 0 for line in lines)
        assert {each.url for each in last_kept_urls(folder)} == {line.url for line in lines}
