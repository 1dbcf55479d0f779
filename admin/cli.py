"""The one command; the only file that may start any room. It imports a subcommand only when that is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import Final, NamedTuple

import click
from click.exceptions import NoArgsIsHelpError


class Entry(NamedTuple):
    """Where a subcommand lives, and its line in `--help`."""

    place: str
    help: str


COMMANDS: Final = {
    "crawl": Entry("admin.commands.crawl:crawl", "Run one job to its end on this machine."),
    "proxy": Entry("admin.commands.fleet:proxy", "Run the recording proxies alone; any client may use them."),
    "restart": Entry("admin.commands.fleet:restart", "Replace the recording processes, without losing a request."),
    "proxies": Entry("admin.commands.proxies:proxies", "List the recording processes of the fleet."),
    "replay": Entry("admin.commands.replay:replay", "Serve a collection as the web it was, through a proxy."),
    "open": Entry("admin.commands.replay:open_collection", "Replay a collection in a browser window."),
    "job": Entry("admin.commands.jobs:job", "List jobs and show one."),
    "check": Entry("admin.commands.upkeep:check", "Prove WARC files right, or say where they are not."),
    "repair": Entry("admin.commands.upkeep:repair", "Finish WARC files that a killed writer left open."),
    "upload": Entry("admin.commands.upkeep:upload", "Hand finished WARC files to the storage now."),
    "dictionary": Entry("admin.commands.upkeep:dictionary", "Make a zstd dictionary from a collection's records."),
    "reindex": Entry("admin.commands.upkeep:reindex", "Rebuild a collection's index and dedup store from its files."),
    "dedup": Entry("admin.commands.dedup:dedup", "Tell what the dedup store knows, and what it costs."),
    "deduplicator": Entry("admin.commands.dedup:deduplicator", "Read Heritrix's DeDuplicator settings as ours."),
    "config": Entry("admin.commands.upkeep:config", "Print every setting in force, and where its value comes from."),
    "worker": Entry("admin.commands.roles:worker", "One role of a cluster: visit what the frontier hands out."),
    "indexer": Entry("admin.commands.roles:indexer", "One role of a cluster: index captures, serve CDX."),
    "bench": Entry("admin.bench.cli:bench", "Measure this machine, side by side with its peers."),
}
HIDDEN: Final = {
    "_proxy-process": Entry("admin.commands.roles:proxy_process", "One recording process, started by its parent."),
    "_redis": Entry("admin.commands.roles:redis_keeper", "Keeper of the private Redis, started by its parent."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they run: `--help` reads the table only."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All but the hidden ones, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None when there is none."""
        entry = COMMANDS.get(cmd_name) or HIDDEN.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry.place.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from admin.version import version

        click.echo(f"ghostfleet {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print it.")
def ghostfleet() -> None:
    """Archive the web through a fleet of recording proxies.

    \b
    ghostfleet crawl https://example.org/ --collection garden    harvest a site
    ghostfleet replay garden                                     look at what was kept
    """


def main() -> None:
    """Entry point of the `ghostfleet` command. Exit codes: 0 done, 1 the job failed, 2 bad input, 130 interrupted."""
    try:
        code = ghostfleet.main(prog_name="ghostfleet", standalone_mode=False)
    except NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "ghostfleet"
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
