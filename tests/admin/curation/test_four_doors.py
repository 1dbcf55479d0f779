"""What curators decide holds at each door of readers: replay, viewer, CDX server and WACZ package."""

from __future__ import annotations

import gzip
import json
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.archive.browsed_collection import NAME, Shelf
from support.archive.exchanges import DATE
from support.browsers.running_viewer import running_viewer
from support.proxy.running_proxy import RunningProxy

from admin.collections.transfer.packaging import Packager
from admin.collections.transfer.selection import Selection
from admin.curation.descriptions.describe import DescriptionChange, describe_capture, describe_collection
from admin.curation.descriptions.exclusions import ExclusionCreation, create_exclusion
from admin.curation.permissions.permission import (
    PermissionChange,
    PermissionCreation,
    change_permission,
    create_permission,
)
from admin.models.curation_tables import CurationState, PermissionState
from admin.models.database import Database
from admin.models.transaction import COMMAND_LINE
from archive.dates import now_micros, timestamp14
from archive.settings.load import Settings, load

SITE = "http://example.org"
PATHS = ("/open", "/hidden/a", "/bad", "/later")
HOUR = 3_600_000_000


class Doors:
    """The four doors of readers to one collection."""

    def __init__(self, settings: Settings, proxy: RunningProxy, reader: httpx.Client, folder: Path) -> None:
        self.settings, self.proxy, self.reader, self.folder = settings, proxy, reader, folder

    def replayed(self) -> list[int]:
        """The statuses that replay answers."""
        return [self.proxy.get(SITE + path).status for path in PATHS]

    def viewed(self) -> list[int]:
        """The statuses that the viewer answers."""
        return [self.reader.get(f"/w/{NAME}/2026id_/{SITE}{path}").status_code for path in PATHS]

    def listed(self) -> list[str]:
        """The paths that the CDX server lists."""
        question = f"http://{self.proxy.ready['cdx']}/{NAME}/cdx?url=*.example.org&fl=url&output=text"
        with urllib.request.urlopen(question, timeout=60) as answer:
            return sorted(line.decode().strip().removeprefix(SITE) for line in answer)

    def packaged(self) -> tuple[list[str], dict[str, Any]]:
        """The paths in the index and in the list of pages of a package, and its description."""
        target = self.folder / "made.wacz"
        Packager(self.settings, NAME, target, Selection()).run()
        with zipfile.ZipFile(target) as package:
            facts = json.loads(package.read("datapackage.json"))
            whole = b"".join(package.read(each) for each in package.namelist() if each.startswith("pages/")).decode()

            index = gzip.decompress(package.read("indexes/index.cdx.gz")).decode()
        listed = sorted(path for path in PATHS if f'"{SITE}{path}"' in index)
        assert all(f"{SITE}{path}" not in whole for path in PATHS if path not in listed)
        return listed, facts


@pytest.fixture(params=[{}, {"curation.readers_see": "approved", "curation.licences_bind_readers": True}])
def policy(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture
def strict(policy: dict[str, Any]) -> bool:
    return bool(policy)


@pytest.fixture
def doors(settings: Settings, tmp_path: Path, policy: dict[str, Any]) -> Iterator[Doors]:
    shelf = Shelf(settings)
    for number, path in enumerate(PATHS):
        shelf.page(path, date=DATE + number * 1_000_000)
    shelf.close()
    chosen = load({"home": str(settings.home), **policy}, environment={})
    with (
        RunningProxy(settings.home, {"proxy.mode": "replay", "proxy.collection": NAME, **policy}) as proxy,
        running_viewer(chosen) as viewer,
        viewer.client() as reader,
    ):
        yield Doors(chosen, proxy, reader, tmp_path)


def describe(database: Database, **values: Any) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        describe_collection(transaction, NAME, DescriptionChange(**values))


def test_every_door_keeps_to_what_curators_decide(
    doors: Doors, sqlite_database: Database, clock: Any, strict: bool
) -> None:
    database = sqlite_database
    clock.now = now_micros()
    if strict:  # nobody has approved the collection yet
        assert (doors.replayed(), doors.viewed()) == ([404] * 4, [404] * 4)
        assert (doors.listed(), doors.packaged()[0]) == ([], [])
        assert NAME not in doors.reader.get("/").text
    describe(database, state=CurationState.IN_REVIEW)
    describe(
        database,
        state=CurationState.APPROVED,
        dublin_core={"title": ("The news",), "subject": ("press", "web"), "rights": ("https://example.org/licence",)},
    )
    assert (doors.replayed(), doors.viewed()) == ([200] * 4, [200] * 4)
    assert doors.listed() == sorted(PATHS)
    paths, facts = doors.packaged()
    assert paths == sorted(PATHS)
    assert (facts["title"], facts["keywords"]) == ("The news", ["press", "web"])
    assert facts["licenses"] == [{"path": "https://example.org/licence"}]
    assert "The news" in doors.reader.get(f"/c/{NAME}/").text

    with database.transaction(COMMAND_LINE) as transaction:
        create_exclusion(transaction, NAME, ExclusionCreation(url=f"{SITE}/hidden/", reason="private"))
        bad = DescriptionChange(state=CurationState.REJECTED, reason="broken")
        describe_capture(transaction, NAME, bad, url=f"{SITE}/bad", timestamp=timestamp14(DATE + 2_000_000))
        later = DescriptionChange(embargo_until=now_micros() + HOUR)
        describe_capture(transaction, NAME, later, url=f"{SITE}/later", timestamp=timestamp14(DATE + 3_000_000))
    assert (doors.replayed(), doors.viewed()) == ([200, 404, 404, 404], [200, 404, 404, 404])
    assert (doors.listed(), doors.packaged()[0]) == (["/open"], ["/open"])

    with database.transaction(COMMAND_LINE) as transaction:
        made = create_permission(transaction, PermissionCreation(site="example.org", state=PermissionState.REFUSED))
    status = 451 if strict else 200
    assert (doors.replayed()[0], doors.viewed()[0]) == (status, status)
    assert doors.listed() == ["/open"]
    assert doors.packaged()[0] == ([] if strict else ["/open"])
    with database.transaction(COMMAND_LINE) as transaction:
        until = PermissionChange(state=PermissionState.GRANTED, granted_until=now_micros() - HOUR)
        change_permission(transaction, made.id, until)
    assert doors.replayed()[0] == status
    with database.transaction(COMMAND_LINE) as transaction:
        change_permission(transaction, made.id, PermissionChange(granted_until=now_micros() + HOUR))
    assert doors.replayed()[0] == 200

    describe(database, embargo_until=now_micros() + HOUR)
    assert (doors.replayed()[0], doors.viewed()[0], doors.listed(), doors.packaged()[0]) == (404, 404, [], [])
    describe(database, lift_embargo=True)
    assert doors.replayed()[0] == 200
    describe(database, state=CurationState.REJECTED, reason="never asked")
    assert (doors.replayed()[0], doors.viewed()[0], doors.listed(), doors.packaged()[0]) == (404, 404, [], [])
    assert NAME not in doors.reader.get("/").text
