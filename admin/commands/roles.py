"""The roles of a cluster, and the hidden ones that a supervisor starts: each is one process."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from admin.options import InputError, JobFailed, child_options, common, load_settings

if TYPE_CHECKING:
    from admin.child import Standing
    from archive.settings import Settings
    from archive.upload import Uploader

_REVIVE_SECONDS: Final = 1.0
_CDX_THREADS: Final = 8


@click.command("worker")
@common
@click.option("--job", required=True, metavar="NAME", help="The job's name in the frontier.")
@click.option("--proxy", required=True, metavar="HOST:PORT", help="Main port of the recording proxies.")
@click.option("--control", "controls", multiple=True, required=True, metavar="HOST:PORT", help="Of each process.")
@click.option("--redis-url", metavar="URL", help="The frontier's Redis.  [setting redis.url]")
@click.option("--name", default="", metavar="NAME", help="This worker's own.  [host and process id]")
@click.option("--at-once", type=click.IntRange(1), metavar="N", help="Visits at once.  [setting browsers.workers]")
@click.option("--log-dir", metavar="DIR", help="Folder of the job's crawl.log, as the proxies see it.")
@child_options
def worker(home: Path | None, settings_file: Path | None, at_once: int | None, **given: Any) -> None:
    """Visit what the frontier hands out for a job, until it is finished or stopped.

    SIGTERM finishes the visits that are going on, gives back the rest and ends.
    """
    standing, settings = _begin(home, settings_file, given, "worker")
    from browsers.executable import BrowserMissing
    from browsers.visit import FleetUnavailable
    from browsers.worker import run_worker
    from frontier.store import FrontierLost

    redis_url = _redis_url(given["redis_url"], settings)
    stop = threading.Event()

    def work() -> None:
        try:
            run_worker(
                settings,
                job=given["job"],
                proxy=given["proxy"],
                controls=given["controls"],
                redis_url=redis_url,
                name=given["name"] or f"{socket.gethostname()}-{standing.pid}",
                concurrency=at_once or settings.browsers.workers,
                stop=stop,
                log_dir=given["log_dir"],
            )
        except (BrowserMissing, FleetUnavailable, FrontierLost) as error:
            _refuse(standing, str(error))

    _until_signal(work, stop)


@click.command("indexer")
@common
@click.option("--cdx-fd", type=int, default=-1, hidden=True)
@click.option("--redis-url", metavar="URL", help="Where captures are announced.  [setting redis.url]")
@child_options
def indexer(home: Path | None, settings_file: Path | None, cdx_fd: int, redis_url: str | None, **given: Any) -> None:
    """Keep the capture index in step with what is recorded, and serve it as a CDX server."""
    standing, settings = _begin(home, settings_file, given, "indexer")
    from waitress.server import create_server

    from admin import sockets
    from admin.uploads import serve_metrics
    from archive.storage import StorageError
    from archive.upload import Uploader
    from dedupdb.captures import Captures
    from dedupdb.cdx_api import create_app
    from dedupdb.indexer import Indexer
    from dedupdb.schema import CapturesError

    try:
        uploader = Uploader(settings) if settings.storage.url else None
        captures = Captures(settings.database_url)
        listener = _cdx_socket(settings, cdx_fd)
    except (CapturesError, sockets.PortError, StorageError) as error:
        _refuse(standing, str(error))
    stop = threading.Event()
    with captures, Indexer(redis_url or settings.redis.url, captures, settings.home) as index:
        index.reconcile()
        app = create_app(captures)
        serve_metrics(app, uploader)
        server = create_server(app, sockets=[listener], threads=_CDX_THREADS)
        threading.Thread(target=server.run, name="cdx", daemon=True).start()
        standing.report_ready(cdx=sockets.address(listener))
        if standing.is_alone:
            click.echo(json.dumps({"ready": True, "cdx": sockets.address(listener)}))
        try:
            with _uploading(uploader, stop):
                _until_signal(lambda: index.run(stop), stop)
        finally:
            server.close()


@click.command("_proxy-process", hidden=True)
@click.option("--index", type=int, required=True)
@click.option("--listen-fd", type=int, required=True)
@click.option("--control-fd", type=int, required=True)
@click.option("--redis-url", required=True)
@click.option("--predecessor-fd", type=int, default=-1)
@click.option("--successor-fd", type=int, default=-1)
@child_options
def proxy_process(**given: Any) -> None:
    """One recording process, until SIGTERM, or until another one has taken its place and nothing is left to do."""
    name = f"proxy-{given['index']}"
    standing, settings = _begin(None, None, given, name)
    from archive.settings import SettingsError
    from archive.warcfile import KeepError
    from proxy.serve import Place, serve_process

    try:
        serve_process(settings, Place(**given), ready=standing.report_ready, retired=standing.report_retired)
    except SettingsError as error:  # what only the proxy can judge, such as a certificate file
        _refuse(standing, str(error))
    except KeepError as error:
        standing.report_unfinished(f"{name}: {error}")
        raise JobFailed(str(error)) from error


@click.command("_redis", hidden=True)
@child_options
def redis_keeper(**given: Any) -> None:
    """Uses the home's private Redis until SIGTERM, and starts it again when it died."""
    standing, settings = _begin(None, None, given, "redis-keeper")
    from admin.interrupts import Interrupts
    from frontier.embedded import EmbeddedRedis, RedisProblem

    server = EmbeddedRedis(settings.home)
    with Interrupts() as interrupts:
        try:
            standing.report_ready(url=server.start().url)
            while not interrupts.wait(_REVIVE_SECONDS):
                server.revive()
        except RedisProblem as error:
            _refuse(standing, str(error))
        finally:
            server.stop()


def _begin(
    home: Path | None, settings_file: Path | None, given: dict[str, Any], title: str
) -> tuple[Standing, Settings]:
    from admin import homefolder, logs
    from admin.child import Standing

    standing = Standing.attach(
        given.pop("title") or title, given.pop("ready_fd"), given.pop("lifeline_fd"), given.pop("held_fds")
    )
    settings = load_settings(home, settings_file)
    logs.to_stderr(settings.logs.format)
    try:
        homefolder.prepare(settings.home)
    except homefolder.HomeError as error:
        _refuse(standing, str(error))
    return standing, settings


def _refuse(standing: Standing, message: str) -> NoReturn:
    """Say why this process can't serve, to the parent and in the log, and end."""
    standing.report_unfit(message)
    raise InputError(message)


@contextmanager
def _uploading(uploader: Uploader | None, stop: threading.Event) -> Iterator[None]:
    """Hand over finished files in a thread, if that is wanted, until `stop` is set and what was finished is gone."""
    if uploader is None:
        yield
        return
    thread = threading.Thread(target=uploader.run, args=(stop,), name="uploader")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _until_signal(work: Callable[[], None], stop: threading.Event) -> None:
    """Do the work in a thread; `stop` is set when a signal asks this process to end."""
    from admin.interrupts import Interrupts

    with Interrupts() as interrupts, ThreadPoolExecutor(1, thread_name_prefix="work") as thread:
        done = thread.submit(work)
        done.add_done_callback(lambda _: interrupts.wake())
        while not done.done():
            if interrupts.wait(None):
                stop.set()
                break
        done.result()


def _redis_url(chosen: str | None, settings: Settings) -> str:
    if url := chosen or settings.redis.url:
        return url
    raise InputError("no Redis to work with; give --redis-url, or the setting redis.url")


def _cdx_socket(settings: Settings, fd: int) -> socket.socket:
    from admin import sockets

    if fd >= 0:
        return socket.socket(fileno=fd)
    (listener,) = sockets.listen(settings.admin.host, settings.admin.cdx_port, option="the setting admin.cdx_port")
    return listener
