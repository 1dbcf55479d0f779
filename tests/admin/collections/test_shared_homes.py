"""Two homes share one Redis, one index and one storage. No command in one home erases what the other home holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.archive.exchanges import exchange, keep, response
from support.archive.foreign_warcs import http
from support.archive.imported_collection import made
from support.stores.postgres_server import PostgresServer
from support.stores.redis_server import RedisServer

from admin.cli import ghostfleet
from archive.settings.load import load
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures


class TwoHomes:
    """The homes `here` and `there`; every home has its own files of the collections that were recorded in it."""

    def __init__(self, folder: Path, redis: RedisServer, database_url: str) -> None:
        self.folder = folder
        self.redis = redis.client()
        self.database_url = database_url
        self.environment = {
            "GHOSTFLEET_REDIS__URL": redis.url,
            "GHOSTFLEET_DATABASE__URL": database_url,
            "GHOSTFLEET_STORAGE__URL": str(folder / "storage"),
        }
        (folder / "storage").mkdir()

    def record(self, home: str, collection: str, path: str) -> str:
        """Record one exchange, index it and return the name of the WARC file."""
        settings = load({"home": str(self.folder / home)}, environment=self.environment)
        writer = WarcWriter(settings, collection)
        body = f"<p>A body of {home} for {path}, long enough to be deduplicated.".encode() * 9
        keep(writer, exchange(path, response(body)))
        writer.close()
        assert self.run(home, "reindex", collection).exit_code == 0
        return max(settings.archive_dir(collection).iterdir(), key=lambda file: file.stat().st_mtime_ns).name

    def run(self, home: str, *arguments: str) -> Result:
        """Run a command in this process, which is much cheaper than a process for each."""
        environment = {**self.environment, "GHOSTFLEET_HOME": str(self.folder / home)}
        return CliRunner().invoke(ghostfleet, arguments, env=environment)

    def shared(self, collection: str) -> tuple[list[str], int]:
        """The files in the index, and the number of originals in Redis."""
        with Captures(self.database_url) as index:
            names = index.filenames(collection)
        keys = self.redis.scan_iter(f"gf:{{{collection}}}:o:*")
        return names, sum(self.redis.hlen(key) for key in keys)


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if shutil.which("pg_ctlcluster") is None and not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        yield f"sqlite:///{tmp_path_factory.mktemp('shared')}/index.db"
        return
    with PostgresServer() as server:
        yield server.url("shared")


@pytest.fixture
def homes(tmp_path: Path, database_url: str, _redis: RedisServer, redis_url: str) -> Iterator[TwoHomes]:
    with Captures(database_url) as index:
        for name in index.collections():
            index.drop(name, f"sidecar/{name}/")
    made = TwoHomes(tmp_path, _redis, database_url)
    yield made
    made.redis.close()


def test_a_home_without_the_folder_neither_advises_nor_does_a_deletion_of_what_others_hold(homes: TwoHomes) -> None:
    homes.record("there", "garden", "/roses")
    before = homes.shared("garden")
    assert len(before[0]) == 1
    assert before[1] >= 1

    listed = homes.run("here", "collection", "list")
    assert "collection delete" not in listed.stdout
    assert f"{homes.folder}/there holds 1 file (1 capture" in listed.stdout
    (facts,) = map(json.loads, homes.run("here", "collection", "list", "--json").stdout.splitlines())
    assert facts["problems"] == []
    shown = json.loads(homes.run("here", "collection", "show", "garden", "--json").stdout)
    assert (shown["problems"], shown["differences"], len(shown["elsewhere"])) == ([], [], 1)

    for arguments in (["--yes-delete", "garden"], ["--force", "--yes-delete", "garden"], []):
        refused = homes.run("here", "collection", "delete", "garden", *arguments)
        assert refused.exit_code == 2
        assert f"{homes.folder}/there holds 1 file" in refused.stderr
    assert homes.run("here", "reindex", "garden").exit_code == 2
    assert homes.shared("garden") == before


def test_the_storage_counts_as_a_holder_even_when_redis_has_forgotten_the_homes(homes: TwoHomes) -> None:
    name = homes.record("there", "garden", "/roses")
    stored = homes.folder / "storage" / "garden" / "archive"
    stored.mkdir(parents=True)
    shutil.copy(homes.folder / "there" / "collections" / "garden" / "archive" / name, stored / name)
    homes.redis.flushall()

    assert "the storage" in homes.run("here", "collection", "list").stdout
    refused = homes.run("here", "collection", "delete", "garden", "--yes-delete", "garden")

    assert (refused.exit_code, "holds 1 file" in refused.stderr) == (2, True)
    assert homes.shared("garden")[0] == [name]


def test_a_deletion_says_what_it_erases_and_takes_out_the_files_of_its_home_alone(homes: TwoHomes) -> None:
    there = homes.record("there", "garden", "/roses")
    here = homes.record("here", "garden", "/lilies")
    assert sorted(homes.shared("garden")[0]) == sorted([here, there])
    originals = homes.shared("garden")[1]

    unasked = homes.run("here", "collection", "delete", "garden")
    wrong = homes.run("here", "collection", "delete", "garden", "--yes-delete", "garde")
    assert (unasked.exit_code, wrong.exit_code) == (2, 2)
    for said in (
        "in this home: 2 files",
        "in the shared index at",
        "1 capture\n",
        "in the shared Redis at",
        "there holds",
    ):
        assert said in unasked.stderr
    assert homes.shared("garden")[1] == originals

    refused = homes.run("here", "collection", "rename", "garden", "park")
    assert (refused.exit_code, "holds 1 file" in refused.stderr) == (2, True)
    assert homes.run("here", "reindex", "garden").exit_code == 0
    assert (sorted(homes.shared("garden")[0]), homes.shared("garden")[1]) == (sorted([here, there]), originals)

    done = homes.run("here", "collection", "delete", "garden", "--yes-delete", "garden", "--json")

    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["captures"], told["captures_of_others"]) == (1, 1)
    assert not (homes.folder / "here" / "collections" / "garden").exists()
    assert homes.shared("garden") == ([there], originals - 1)
    assert (homes.folder / "there" / "collections" / "garden" / "archive" / there).exists()

    last = homes.run("here", "collection", "delete", "garden", "--everywhere", "--yes-delete", "garden")
    assert last.exit_code == 0, last.stderr
    assert homes.shared("garden") == ([], 0)


def test_imported_files_of_one_name_and_two_homes_keep_their_captures(homes: TwoHomes) -> None:
    for home in ("here", "there"):
        path = homes.folder / f"from {home}" / "crawl.warc"
        path.parent.mkdir()
        path.write_bytes(made("response", f"http://{home}.example/", http(home.encode()))[0])
        for _ in range(2):
            assert homes.run(home, "collection", "import", "garden", str(path)).exit_code == 0
    for home in ("here", "there"):
        assert homes.run(home, "reindex", "garden").exit_code == 0

    names, _ = homes.shared("garden")
    assert len(names) == 2
    with Captures(homes.database_url) as index:
        assert index.count("garden") == 2


def test_a_name_that_another_home_or_the_storage_has_is_not_given_to_a_collection(homes: TwoHomes) -> None:
    homes.record("here", "garden", "/roses")
    homes.record("there", "park", "/trees")
    stored = homes.folder / "storage" / "meadow" / "archive"
    stored.mkdir(parents=True)
    (stored / "a.warc.gz").write_bytes(b"as another home has left it")
    before = homes.shared("park")

    for name in ("park", "meadow"):
        refused = homes.run("here", "collection", "rename", "garden", name)
        assert (refused.exit_code, "choose another name" in refused.stderr) == (2, True)
    assert homes.shared("park") == before
    assert homes.run("here", "collection", "rename", "garden", "orchard").exit_code == 0
