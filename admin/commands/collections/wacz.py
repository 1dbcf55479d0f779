"""The command `wacz` reads its options; `admin.collections.transfer.packaging` writes the package."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.collections.names import CollectionName, chosen_collection
from admin.commands.collections.collection_transfer import file_status
from admin.options import INTERRUPTED, JOB_FAILED, InputError, common, load_settings
from admin.units import counted, human_bytes
from archive.program_name import command

if TYPE_CHECKING:
    from admin.collections.transfer.packaging import PackagedCollection


@click.command("wacz")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write; an older file is replaced.  [<home>/collections/COLLECTION/wacz/COLLECTION-TIME.wacz]",
)
@click.option("--job", default="", metavar="NAME", help="Only captures of this job, or of this run of a job.")
@click.option(
    "--since", default="", metavar="DATE", help="Only captures of this date or later: 2026, 2026-11 or 2026-11-22."
)
@click.option("--until", default="", metavar="DATE", help="Only captures up to the end of this year, month or day.")
@click.option("--url-prefix", default="", metavar="URL", help="Only captures whose URL begins with this prefix.")
@click.option("--no-originals", is_flag=True, help="Do not add the originals of chosen revisits.")
@click.option("--hidden", is_flag=True, help="Add the captures that access rules and licences hide from readers.")
@click.option("--title", default="", metavar="TEXT", help="Title of the package.  [its description's, or its name]")
@click.option(
    "--sign-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Sign the package with this private key (PEM, P-256 or P-384). A new key is made if FILE does not exist.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def wacz(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    target: Path | None,
    job: str,
    since: str,
    until: str,
    url_prefix: str,
    no_originals: bool,
    hidden: bool,
    title: str,
    sign_key: Path | None,
    as_json: bool,
) -> int:
    """Write a WACZ package with the captures of a collection.

    A package is one file with WARC files, their index, a list of pages with titles and texts, and the crawl logs.
    ReplayWeb.page, pywb and other programs open it. Without a condition all captures that readers may see are in the
    package. An interrupted command leaves no package.

    \b
    Exit codes:
      0    the package has all chosen captures
      1    captures or originals are missing; the output lists them
      2    bad input
      130  interrupted
    """
    from admin.collections.transfer.packaging import Packager
    from admin.collections.transfer.selection import ExportProblem, selection
    from archive.dates import now_micros, timestamp14
    from archive.home_access import leave_to_user
    from archive.wacz.signature import SigningKey, SigningKeyError

    settings = load_settings(home, settings_file)
    name = chosen_collection(settings, collection)
    file = target or settings.collection(name) / "wacz" / f"{name}-{timestamp14(now_micros())}.wacz"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        chosen = selection(since, until, job, url_prefix)
        key = SigningKey.at(sign_key) if sign_key else None
        packager = Packager(
            settings, name, file, chosen, title=title, key=key, originals=not no_originals, for_readers=not hidden
        )
        with file_status(shown=not as_json) as watch:
            result = packager.run(watch)
        leave_to_user(file, settings.home)
    except KeyboardInterrupt:
        click.echo(f"ghostfleet: interrupted; {file} was not written", err=True)
        return INTERRUPTED
    except (ExportProblem, SigningKeyError) as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        raise InputError(f"{error}; run `{command('reindex')} {name}`") from error
    except OSError as error:
        raise InputError(f"{error.filename or file} can't be written: {error.strerror or error}") from error
    return _print(name, result, as_json)


def _print(name: str, result: PackagedCollection, as_json: bool) -> int:
    """Print the summary, which begins with the missing captures; return the exit code."""
    if as_json:
        click.echo(json.dumps(result.as_json()))
    else:
        for line in result.missing:
            click.echo(f"missing: {line}")
        originals = f" ({result.originals:,} of them added as originals of revisits)" if result.originals else ""
        if result.hidden:
            click.echo(f"hidden from readers: {counted(result.hidden, 'capture')}; --hidden adds them")
        signed = ", signed" if result.is_signed else ""
        click.echo(
            f"{name}: packaged {counted(result.captures, 'capture')}{originals} and {counted(result.pages, 'page')} in "
            f"{result.file} ({human_bytes(result.bytes)}{signed})"
        )
    return JOB_FAILED if result.missing else 0
