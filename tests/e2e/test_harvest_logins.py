"""A harvest logs in with the passwords of its domains, by Basic, Digest and a form, and no file has a password."""

from __future__ import annotations

import base64
import gzip
import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus

import pytest
from pydantic import SecretStr
from support.admin.harvesters import Admin, RunningHarvester, Wanted
from support.archive.warc_reader import Archive
from support.origins.member_sites import MEMBERS, REALM, USER, MemberSites
from support.processes.waiting import until

from admin.harvests.domains.configurations import ConfigurationChange, change_configuration
from admin.harvests.domains.passwords import PasswordCreation, create_password
from admin.harvests.domains.seed_lists import SeedListCreation, create_seed_list
from admin.models.job_tables import JobStatus
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from browsers.logins.profile_store import ProfileStore

pytestmark = pytest.mark.browser

PASSWORD: Final = 'S3cr+t/"pfönd"&=7'
FORMS: Final = {
    "plain": PASSWORD.encode(),
    "JSON": json.dumps(PASSWORD)[1:-1].encode(),
    "JSON in JSON": json.dumps(json.dumps(PASSWORD))[3:-3].encode(),
    "URL": quote(PASSWORD, safe="").encode(),
    "form": quote_plus(PASSWORD).encode(),
    "Basic": base64.b64encode(f"{USER}:{PASSWORD}".encode()),
    "base64": base64.b64encode(PASSWORD.encode()).rstrip(b"="),
    "latin-1": PASSWORD.encode("latin-1"),
    "repr": repr(PASSWORD)[1:-1].encode(),
    "HTML": PASSWORD.replace("&", "&amp;").replace('"', "&#34;").encode(),
}
KINDS: Final = ("basic", "digest", "form")


@pytest.fixture
def admin(home: Path) -> Iterator[Admin]:
    found = Admin(load({"home": str(home)}, environment={}))
    yield found
    found.database.close()


def contents(home: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file of a home, and those that are packed as they are unpacked."""
    for path in sorted(home.rglob("*")):
        with suppress(OSError):
            if path.is_file():
                data = path.read_bytes()
                yield path, data
                if data[:2] == b"\x1f\x8b":
                    yield path, gzip.decompress(data)


def of_processes(home: Path) -> Iterator[tuple[Path, bytes]]:
    """Arguments and environments of all processes that have to do with the home."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            found = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            if entry.name.isdigit() and str(home).encode() in b"".join(found):
                yield from ((entry, each) for each in found)


def told(found: Iterator[tuple[Path, bytes]]) -> list[tuple[str, str]]:
    """Where one of the forms of the password stands."""
    return [(str(path), form) for path, data in found for form, secret in FORMS.items() if secret in data]


def with_password(admin: Admin, domain: str, url: str, realm: str, password: str = PASSWORD) -> None:
    given = PasswordCreation(name="members", url=url, realm=realm, username=USER, password=SecretStr(password))
    with admin.database.transaction(COMMAND_LINE) as transaction:
        create_seed_list(transaction, domain, SeedListCreation(name="pages", seeds=url))
        create_password(transaction, domain, given)
        change = ConfigurationChange(seed_lists=("pages",), passwords=("members",))
        change_configuration(transaction, domain, "defaultconfig", change)


@pytest.mark.timeout(300)
def test_the_pages_of_members_are_captured_and_no_file_or_process_has_the_password(home: Path, admin: Admin) -> None:
    """One job visits the first page of each site with the plain crawler, and the second one with a ghost."""
    hosts = {kind: f"www.{kind}.example" for kind in KINDS}
    rules = [f"http://{host}/members/2 visitor=browser" for host in hosts.values()]
    profile = {"visitor": "plain", "sheets": rules, "scope": "host"}
    with MemberSites(PASSWORD) as sites:
        domains = [Wanted(f"{kind}.example") for kind in KINDS]
        job = admin.job(domains, [f"http://{host}/" for host in hosts.values()], profile=profile)
        for kind, host in hosts.items():
            page = "/login" if kind == "form" else "/members/"
            with_password(admin, f"{kind}.example", f"http://{host}{page}", "" if kind == "form" else REALM)
        flags = [part for host in hosts.values() for part in ("--resolve", f"{host}={sites.address}")]
        with RunningHarvester(home, "--jobs", "1", *flags) as harvester:
            logins, looked = set[str](), [0.0]

            def is_over() -> bool:
                if time.monotonic() - looked[0] < 1:
                    return False
                looked[0] = time.monotonic()
                assert told(of_processes(home)) == []
                assert harvester.process.poll() in (None, 0), harvester.said
                logins.update(path.name for path in home.rglob("*.profile"))
                admin.submit()
                return admin.show(job).status in (JobStatus.DONE, JobStatus.FAILED)

            until(is_over, what="the end of the job", within=280)
            ended = admin.show(job)
            assert harvester.ended() == 0, harvester.said
        assert told(contents(home)) == []
        assert told(iter([(harvester.output, harvester.output.read_bytes())])) == []
        assert (sites.wrong, sites.logouts) == (0, 0)

    assert (ended.status, ended.harvest_error) == (JobStatus.DONE, "")
    others = {str(path.relative_to(home)) for path in home.rglob("*") if path.lstat().st_mode & 0o077}
    assert others <= {"ca/ca.pem", "ca/leaf.spki"}, "only the owner can read what the harvester has made"
    archive = Archive.read(admin.settings.archive_dir("news"))
    for host in hosts.values():
        for page in ("", "2"):
            url = f"http://{host}/members/{page}"
            blocks = [each.block for each in archive.of(url, "response")]
            good = [block for block in blocks if block.startswith(b"HTTP/1.1 200")]
            assert [MEMBERS.encode() in block for block in good] == [True], (url, blocks)
        assert archive.of(f"urn:text:http://{host}/members/2"), "a ghost visited the page"
    sent = b"".join(record.block for record in archive.kinds("request"))
    assert set(re.findall(rb"(?im)^(?:authorization|cookie): (.*)\r$", sent)) == {b"redacted"}
    assert b"Set-Cookie: sid=" not in b"".join(record.block for record in archive.records)
    assert len(logins) == 3, "the job has a login for each password while it runs"
    assert ProfileStore(home).names() == []
