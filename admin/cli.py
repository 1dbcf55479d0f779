"""The command `ghostfleet` finds its subcommands in a table and imports only the one that runs."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Final, NamedTuple

import click
from click.exceptions import NoArgsIsHelpError


class Entry(NamedTuple):
    """An entry names a subcommand's function and has its line in `--help`."""

    target: str
    """The function, as `module:name`."""
    help: str


COMMANDS: Final = {
    "up": Entry(
        "admin.commands.processes.up:up", "Run a whole installation: proxies, scheduler, harvesters, admin site."
    ),
    "crawl": Entry("admin.commands.jobs.crawl:crawl", "Crawl web sites into a collection on this machine."),
    "proxy": Entry(
        "admin.commands.processes.fleet:proxy", "Run the recording proxies without a crawl, for any HTTP client."
    ),
    "restart": Entry(
        "admin.commands.processes.fleet:restart", "Restart the recording processes without losing a request."
    ),
    "proxies": Entry("admin.commands.processes.proxies:proxies", "List the running recording processes."),
    "replay": Entry("admin.commands.processes.replay:replay", "Replay a collection through an HTTP proxy."),
    "open": Entry("admin.commands.processes.replay:open_collection", "Replay a collection in a browser window."),
    "view": Entry("admin.commands.processes.view:view", "Show archived pages in any browser, without a proxy setting."),
    "collection": Entry(
        "admin.commands.collections.collection:collection", "List, show, delete, rename, import and export collections."
    ),
    "wacz": Entry("admin.commands.collections.wacz:wacz", "Write a WACZ package with the captures of a collection."),
    "job": Entry(
        "admin.commands.jobs.job:job",
        "List and show jobs of `crawl`; stop, pause or resume a running one, or add seeds or render workers to it.",
    ),
    "queue": Entry(
        "admin.commands.jobs.queue:queue", "Show the queued URLs of a job; add, delete, export, import or block them."
    ),
    "revisit": Entry(
        "admin.commands.jobs.revisits:revisit", "Show when a running job visits a URL again, or let it visit URLs now."
    ),
    "log": Entry(
        "admin.commands.jobs.log:log",
        "Analyse the crawl.log of a job, or of Heritrix: time lines, hosts, search, indicators, alerts.",
    ),
    "profile": Entry("admin.commands.jobs.profiles:profile", "Check, list and show profiles of crawls."),
    "scope": Entry("admin.commands.jobs.scope:scope", "Ask why URLs are in or out of the scope of a crawl."),
    "check": Entry(
        "admin.commands.collections.checking:check", "Validate WARC files and report problems with file and offset."
    ),
    "repair": Entry("admin.commands.collections.upkeep:repair", "Repair WARC files that a killed process left open."),
    "upload": Entry("admin.commands.collections.upkeep:upload", "Upload finished WARC files to the storage now."),
    "dictionary": Entry(
        "admin.commands.collections.upkeep:dictionary", "Train a zstd dictionary with a collection's records."
    ),
    "reindex": Entry(
        "admin.commands.collections.upkeep:reindex", "Rebuild a collection's index and dedup store from its files."
    ),
    "dedup": Entry(
        "admin.commands.collections.dedup:dedup", "Show how many payloads the dedup store has, and their memory."
    ),
    "deduplicator": Entry(
        "admin.commands.collections.dedup:deduplicator", "Convert Heritrix's DeDuplicator settings to ours."
    ),
    "config": Entry(
        "admin.commands.collections.upkeep:config", "Print every setting, its value and where the value comes from."
    ),
    "admin": Entry("admin.commands.processes.site:admin", "Serve the admin site and its REST API."),
    "domain": Entry(
        "admin.commands.use_cases.groups:domain", "Add, find and change domains, their seed lists and configurations."
    ),
    "template": Entry(
        "admin.commands.use_cases.groups:template", "Upload, check, compare and download templates of crawls."
    ),
    "schedule": Entry(
        "admin.commands.use_cases.groups:schedule", "Show and change schedules, and preview their dates."
    ),
    "harvest": Entry(
        "admin.commands.use_cases.groups:harvest", "Define, preview and run harvests, and steer their jobs."
    ),
    "channel": Entry("admin.commands.use_cases.groups:channel", "Show and change channels, and show their harvesters."),
    "trap": Entry(
        "admin.commands.use_cases.groups:trap", "Show and change lists of crawler traps, and test expressions."
    ),
    "extended-field": Entry(
        "admin.commands.use_cases.groups:extended_field", "Define further fields of domains and harvests."
    ),
    "user": Entry(
        "admin.commands.use_cases.groups:user", "Invite, show and change users of the admin site, and make API tokens."
    ),
    "notification": Entry(
        "admin.commands.use_cases.groups:notification", "Subscribe users to events, and show what was sent."
    ),
    "capture": Entry(
        "admin.commands.use_cases.groups:capture", "Find captures of a collection, show their records, and replay them."
    ),
    "qa": Entry(
        "admin.commands.use_cases.groups:qa",
        "Judge captured pages by their replay, decide about them, and repair them.",
    ),
    "session": Entry(
        "admin.commands.use_cases.groups:session",
        "Make, show, pause, resume and end capture sessions, in which a person captures by hand.",
    ),
    "record": Entry("admin.commands.sessions:record", "Capture by hand in a browser window."),
    "curate": Entry(
        "admin.commands.use_cases.groups:curate",
        "Describe collections, ask for permissions, change many domains, and look at the in-tray.",
    ),
    "audit": Entry("admin.commands.use_cases.groups:audit", "Show who changed what, and when."),
    "database": Entry("admin.commands.database:database", "Show or upgrade the version of the admin's database."),
    "scheduler": Entry(
        "admin.commands.processes.scheduler:scheduler", "Make the jobs of harvests that are ready, and dispatch them."
    ),
    "harvester": Entry("admin.commands.processes.harvester:harvester", "Run the jobs of one channel on this machine."),
    "worker": Entry(
        "admin.commands.processes.roles:worker", "Run one worker of a cluster, which visits URLs of a job."
    ),
    "indexer": Entry("admin.commands.processes.roles:indexer", "Run the indexer of a cluster, which also serves CDX."),
    "intake": Entry(
        "admin.commands.jobs.doors:intake", "Take URLs for a running job from the messages of a broker (AMQP)."
    ),
    "frontier": Entry(
        "admin.commands.jobs.doors:frontier", "Serve the queues of a running job to other crawlers (URLFrontier)."
    ),
    "bench": Entry("bench.cli:bench", "Measure this installation and other recording proxies on this machine."),
}
HIDDEN: Final = {
    "_harvest-job": Entry(
        "admin.commands.processes.harvester:harvest_job", "Run the crawl of one job, for its harvester."
    ),
    "_proxy-process": Entry(
        "admin.commands.processes.roles:proxy_process", "Run one recording process, for its parent process."
    ),
    "_redis": Entry(
        "admin.commands.processes.roles:private_redis", "Run the home's private Redis, for its parent process."
    ),
}


class LazyGroup(click.Group):
    """The group imports a command when the command runs; `--help` reads only the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands that are not hidden, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; None for an unknown name."""
        entry = COMMANDS.get(cmd_name) or HIDDEN.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry.target.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from archive.version import version

        click.echo(f"ghostfleet {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def ghostfleet() -> None:
    """Archive the web through a fleet of recording proxies.

    \b
    ghostfleet crawl https://example.org/ --collection garden    crawl a site into a collection
    ghostfleet replay garden                                     replay the collection
    """


def main() -> None:
    """Run the `ghostfleet` command.

    Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted. `crawl` has further ones (`admin.jobs.states`), and
    `job` ends with 6 when the job is not running.
    """
    from archive.home_access import use_mask
    from archive.program_name import program, remember

    use_mask("owner")
    remember(sys.argv[0])
    ghostfleet.help = re.sub(r"(?m)^( *)ghostfleet ", lambda found: f"{found[1]}{program()} ", ghostfleet.help or "")
    try:
        code = ghostfleet.main(prog_name=program(), complete_var="_GHOSTFLEET_COMPLETE", standalone_mode=False)
    except NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else program()
        click.echo(f"ghostfleet: {error.format_message().rstrip('.')}; see `{command} --help`", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
