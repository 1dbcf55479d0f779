"""`ghostfleet wacz` as people run it; its packages are judged by py-wacz and opened by ReplayWeb.page."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.archive.browsed_collection import HOSTILE, Shelf, fill, fill_index, png
from support.archive.exchanges import DATE, digests, exchange, keep, response
from support.archive.oracles import fastwarc_check
from support.archive.replayweb import playing
from support.archive.signatures import is_signed_by
from support.browsers.garden_crawl import COLLECTION, SEED, crawl
from support.processes.ghostfleet_command import ROOT

from admin.demo.garden import GardenSite
from archive.access_rules import Access, AccessRules, rule_for
from archive.capture import Context, Original
from archive.settings.load import Settings, load
from archive.wacz.signature import SigningKey
from archive.warc import cdxj
from archive.warc.reading.reader import records
from archive.warc.writing.writer import WarcWriter
from bench.peers.peer import PeerUnavailable, install

DAY = 86_400_000_000
_TRIES = 20
TEXT = "The linnet sings on the hill."
SECRET = "http://secret.example/a"


def _command(home: Path, *arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "admin.cli", "wacz", *map(str, arguments), "--home", str(home)]


def _wacz(home: Path, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Run with --json; return the exit code and the summary."""
    done = subprocess.run(
        [*_command(home, *arguments), "--json"], capture_output=True, text=True, cwd=ROOT, timeout=100, check=False
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def _lines(package: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in package.read(name).decode().splitlines()]


def _index(package: zipfile.ZipFile) -> list[tuple[str, str, dict[str, Any]]]:
    """The lines of the index, each block read at the place that the list of blocks says."""
    head, *entries = package.read("indexes/index.idx").decode().splitlines()
    assert head.startswith("!meta 0 ")
    data, found = package.read("indexes/index.cdx.gz"), []
    for entry in entries:
        first, place = entry.split(" {", 1)
        said = json.loads("{" + place)
        block = data[said["offset"] : said["offset"] + said["length"]]
        assert said["digest"] == f"sha256:{hashlib.sha256(block).hexdigest()}"
        lines = gzip.decompress(block).decode().splitlines()
        assert lines[0].startswith(f"{first} ")
        found += [(*line.split(" ", 2)[:2], json.loads(line.split(" ", 2)[2])) for line in lines]
    return found  # type: ignore[return-value]


def _read_all(path: Path, folder: Path) -> list[str]:
    """The URLs of the index's lines, after each line's record was read at its place in the package."""
    found = []
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        package.extractall(folder, [name for name in package.namelist() if name.startswith("archive/")])
        lines = _index(package)
    assert [line[:2] for line in lines] == sorted(line[:2] for line in lines)
    for _, _, said in lines:
        raw = (folder / "archive" / said["filename"]).read_bytes()
        start = int(said["offset"])
        member = gzip.decompress(raw[start : start + int(said["length"])])
        assert f"WARC-Target-URI: {said['url']}\r\n".encode() in member
        found.append(said["url"])
    return found


def _is_valid(path: Path) -> None:
    """Fail unless `wacz validate` of py-wacz finds the package valid; skip without it."""
    try:
        bin_folder = install("wacz", "wacz==0.6.0")
    except PeerUnavailable as error:
        pytest.skip(f"py-wacz can't be installed: {error}")
    done = subprocess.run(
        [bin_folder / "wacz", "validate", "-f", path], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the passed WACZ is valid" in done.stdout


@pytest.fixture
def kept(settings: Settings) -> Settings:
    fill(settings)
    return settings


@pytest.fixture
def two_days(settings: Settings) -> Settings:
    """Two files: a logo and a page on one day, a revisit of the logo and another page on the next, by two jobs."""
    first = WarcWriter(settings, "news")
    original = keep(first, exchange("/logo"))
    keep(first, exchange("/a/1", id="exchange-2", context=Context("news", job="daily-20261121080000")))
    first.close()
    second = WarcWriter(settings, "news")
    later: dict[str, Any] = {"started": DATE + DAY, "context": Context("news", job="weekly-20261122080000")}
    body = response(b"<p>another page, on the next day")
    keep(second, exchange("/a/2", body, id="exchange-3", digests=digests(body), **later))
    keep(second, exchange("/logo", id="exchange-4", **later), Original.of(original))
    second.close()
    return settings


@pytest.mark.timeout(600)  # py-wacz may have to be installed first
def test_a_package_is_valid_for_py_wacz_and_holds_the_same_bytes(kept: Settings, tmp_path: Path) -> None:
    code, result = _wacz(kept.home, "news", "-o", tmp_path / "news.wacz", "--sign-key", tmp_path / "key.pem")
    assert (code, result["missing"], result["captures"]) == (0, [], 11)
    _is_valid(tmp_path / "news.wacz")
    with zipfile.ZipFile(tmp_path / "news.wacz") as package:
        for path in kept.archive_dir("news").iterdir():
            assert package.read(f"archive/{path.name}") == path.read_bytes()
            assert package.getinfo(f"archive/{path.name}").compress_type == zipfile.ZIP_STORED
        described = json.loads(package.read("datapackage.json"))
        assert {each["path"] for each in described["resources"]} == {
            name for name in package.namelist() if not name.startswith("datapackage")
        }
        for each in described["resources"]:
            data = package.read(each["path"])
            assert (each["bytes"], each["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
    urls = _read_all(tmp_path / "news.wacz", tmp_path / "out")
    assert len(urls) == 10, "all but the metadata record, which players would take for the page"


def test_pages_have_the_titles_and_texts_that_a_ghost_kept(kept: Settings, tmp_path: Path) -> None:
    _wacz(kept.home, "news", "-o", tmp_path / "news.wacz", "--title", "Our news")
    with zipfile.ZipFile(tmp_path / "news.wacz") as package:
        head, *pages = _lines(package, "pages/pages.jsonl")
        assert json.loads(package.read("datapackage.json"))["title"] == "Our news"
    assert (head["format"], head["hasText"]) == ("json-pages-1.0", True)
    noted = next(page for page in pages if page["id"] == "page-1")
    assert noted == {
        "id": "page-1",
        "url": "http://example.org/page",
        "title": f"Title {HOSTILE}",
        "ts": "2026-11-21T08:15:00.000Z",
        "mime": "text/html",
        "text": f"Hello {HOSTILE}",
    }


@pytest.mark.timeout(600)  # py-wacz may have to be installed first
def test_seeds_stand_apart_and_the_title_of_a_plain_page_is_read_from_its_record(
    two_days: Settings, tmp_path: Path
) -> None:
    run = two_days.collection("news") / "jobs" / "daily-20261121080000"
    run.mkdir(parents=True)
    state = {"job": "daily", "collection": "news", "name": run.name, "status": "finished"}
    (run / "run.json").write_text(json.dumps(state))
    (run / "seeds.txt").write_text("http://example.org/a/1\n")
    times = "#000 20261121081500000+12"
    (run / "crawl.log").write_text(
        "".join(
            f"2026-11-21T08:15:01.000Z   200         30 http://example.org/{path} {hops} - text/html {times} - - -\n"
            for path, hops in (("a/1", "-"), ("logo", "LE"), ("a/2", "LL"))
        )
    )
    _, result = _wacz(two_days.home, "news", "-o", tmp_path / "news.wacz")
    assert (result["pages"], result["seeds"]) == (2, 1)
    _is_valid(tmp_path / "news.wacz")
    with zipfile.ZipFile(tmp_path / "news.wacz") as package:
        (_, seed), (_, other) = _lines(package, "pages/pages.jsonl"), _lines(package, "pages/extraPages.jsonl")
        assert json.loads(package.read("datapackage.json"))["mainPageUrl"] == "http://example.org/a/1"
        assert package.read(f"logs/{run.name}.log") == (run / "crawl.log").read_bytes()
    assert (seed["url"], seed["title"], seed["seed"], seed["depth"]) == ("http://example.org/a/1", "Welcome", True, 0)
    assert (other["url"], other["depth"]) == ("http://example.org/a/2", 2)


@pytest.mark.timeout(600)  # py-wacz may have to be installed first
def test_a_job_is_packaged_with_the_originals_of_its_revisits(two_days: Settings, tmp_path: Path) -> None:
    code, result = _wacz(two_days.home, "news", "-o", tmp_path / "news.wacz", "--job", "weekly")
    assert (code, result["captures"], result["originals"], result["warcs"]) == (0, 3, 1, 2)
    _is_valid(tmp_path / "news.wacz")
    urls = _read_all(tmp_path / "news.wacz", tmp_path / "out")
    assert urls == ["http://example.org/a/2", "http://example.org/logo", "http://example.org/logo"]
    for path in (tmp_path / "out/archive").iterdir():
        fastwarc_check(path)


@pytest.fixture
def redirected(settings: Settings) -> Settings:
    """Two pages whose scripts led the visits to another URL: one to SECRET, the other one not."""
    shelf, pages = Shelf(settings), {}
    for name, final_url in (("moved", SECRET), ("plain", "http://example.org/open")):
        visit = exchange(f"/{name}", response(f"<title>{name}".encode()), context=Context("news", "daily", name))
        page = pages[name] = keep(shelf.writer, visit)
        told: dict[str, Any] = {"url": page.url, "date": DATE, "page_id": name, "concurrent_to": page.record_id}
        shelf.kept("urn:text:", f"text of {final_url}".encode(), "text/plain; charset=utf-8", **told)
        shelf.kept("urn:thumbnail:", png(), **told)
        link = f"outlink: {final_url}/inner L a/@href\r\n".encode()
        shelf.kept("", link, "application/warc-fields", kind="metadata", **told)
        notes = json.dumps({"title": f"title of {final_url}", "url": page.url, "finalUrl": final_url})
        shelf.kept("urn:pageinfo:", notes.encode(), "application/json", **told)
    later = exchange("/moved", started=DATE + DAY, id="exchange-2", context=Context("news", "weekly", "other"))
    keep(shelf.writer, later, Original.of(pages["moved"]))
    shelf.close()
    return settings


@pytest.mark.parametrize("access", [Access.EXCLUDE, Access.BLOCK])
@pytest.mark.parametrize("job", ["", "weekly"])
def test_the_url_at_the_end_of_a_visit_decides_too(
    redirected: Settings, tmp_path: Path, access: Access, job: str
) -> None:
    """Job weekly has a revisit of the page. Its original is added, to which records of the visit are tied."""
    AccessRules([rule_for(SECRET, access)]).save(redirected.collection("news") / "access.aclj")
    code, result = _wacz(redirected.home, "news", "-o", tmp_path / "news.wacz", *(("--job", job) if job else ()))
    assert (code, result["missing"]) == (0, [])
    with zipfile.ZipFile(tmp_path / "news.wacz") as package:
        lines, pages = [line[2]["url"] for line in _index(package)], _lines(package, "pages/pages.jsonl")[1:]
        package.extractall(tmp_path / "out", [each for each in package.namelist() if each.startswith("archive/")])
    (copy,) = (tmp_path / "out/archive").iterdir()
    assert SECRET.encode() not in b"".join(piece for each in records(copy) for piece in each.block())
    titles = [(each["url"], each["title"]) for each in pages]
    moved, plain = "http://example.org/moved", "http://example.org/plain"
    if job:
        assert (sorted(lines), result["hidden"], result["originals"]) == ([moved, moved], 0, 1)
        assert titles == [(moved, "moved")], "the title of the document, which the revisit refers to"
    else:
        derived = [f"urn:{name}:{plain}" for name in ("pageinfo", "text", "thumbnail")]
        assert (sorted(lines), result["hidden"]) == ([moved, moved, plain, *derived], 4)
        assert result["captures"] == len(lines) + 1, "the metadata record of the other page is no line of the index"
        assert titles == [(moved, "moved"), (plain, "title of http://example.org/open")], "the revisit is a page, too"


def test_a_visit_whose_note_can_not_be_read_is_hidden_when_there_are_rules(
    redirected: Settings, tmp_path: Path
) -> None:
    shelf = Shelf(redirected)
    shelf.kept("urn:pageinfo:", b"{", "application/json", url="http://example.org/lost", page_id="lost")
    shelf.kept("urn:text:", b"text of the lost", "text/plain", url="http://example.org/lost", page_id="lost")
    shelf.close()
    assert _wacz(redirected.home, "news", "-o", tmp_path / "news.wacz")[1]["hidden"] == 0
    rule_of_others = rule_for("http://other.example/", Access.EXCLUDE)
    AccessRules([rule_of_others]).save(redirected.collection("news") / "access.aclj")
    _, result = _wacz(redirected.home, "news", "-o", tmp_path / "news.wacz")
    assert (result["hidden"], result["captures"]) == (2, 11)


@pytest.mark.timeout(600)  # py-wacz may have to be installed first
def test_zstd_files_are_packed_with_gzip_and_no_byte_of_a_record_changes(home: Path, tmp_path: Path) -> None:
    settings = load({"home": str(home), "archive.compression": "zstd"}, environment={})
    fill(settings)
    (source,) = settings.archive_dir("news").iterdir()
    assert source.name.endswith(".warc.zst")
    code, result = _wacz(home, "news", "-o", tmp_path / "news.wacz")
    assert (code, result["captures"]) == (0, 11)
    _is_valid(tmp_path / "news.wacz")
    _read_all(tmp_path / "news.wacz", tmp_path / "out")
    (copy,) = (tmp_path / "out/archive").iterdir()
    assert copy.name == source.name.replace(".zst", ".gz")
    assert [(each.header, b"".join(each.block())) for each in records(copy)] == [
        (each.header, b"".join(each.block())) for each in records(source)
    ]


@pytest.mark.timeout(600)  # py-wacz may have to be installed first
def test_files_of_the_storage_and_of_subfolders_are_packaged(kept: Settings, tmp_path: Path) -> None:
    (source,) = kept.archive_dir("news").iterdir()
    (sidecar,) = kept.index_dir("news").iterdir()
    lines = list(cdxj.read(sidecar, "news"))
    for folder in ("a", "b"):
        (kept.archive_dir("news") / folder).mkdir()
        (kept.index_dir("news") / folder).mkdir()
        shutil.copy(source, kept.archive_dir("news") / folder / source.name)
        moved = [each.placed(f"{folder}/{source.name}", each.offset, each.length) for each in lines]
        cdxj.write_sorted(kept.index_dir("news") / folder / sidecar.name, map(cdxj.line, moved))
    far = tmp_path / "far"
    (far / "news/archive").mkdir(parents=True)
    source.rename(far / "news/archive" / source.name)
    code, result = _wacz(kept.home, "news", "-o", tmp_path / "news.wacz")
    assert (code, result["missing"]) == (1, [f"{source.name} with all captures is not in the home"])
    stored = {**os.environ, "GHOSTFLEET_STORAGE__URL": far.as_uri()}
    done = subprocess.run(
        [*_command(kept.home, "news", "-o", tmp_path / "news.wacz"), "--json"],
        capture_output=True, text=True, cwd=ROOT, timeout=100, check=False, env=stored,
    )  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)["warcs"]) == (0, 3), done.stderr
    assert len(_read_all(tmp_path / "news.wacz", tmp_path / "out")) == 30
    assert len(os.listdir(tmp_path / "out/archive")) == 3
    _is_valid(tmp_path / "news.wacz")


def test_a_file_that_is_being_written_is_named_and_left_out(two_days: Settings, tmp_path: Path) -> None:
    writer = WarcWriter(two_days, "news")
    keep(writer, exchange("/open"))
    writer.sync()
    code, result = _wacz(two_days.home, "news", "-o", tmp_path / "news.wacz")
    writer.close()
    assert (code, result["captures"], len(result["missing"])) == (1, 4, 1)
    assert "is still being written" in result["missing"][0]


def test_the_signature_is_that_of_the_key_and_of_this_description(kept: Settings, tmp_path: Path) -> None:
    for name in ("one", "two"):
        _wacz(kept.home, "news", "-o", tmp_path / f"{name}.wacz", "--sign-key", tmp_path / "key.pem")
    assert (tmp_path / "key.pem").stat().st_mode & 0o077 == 0
    public = SigningKey.at(tmp_path / "key.pem").public
    for name in ("one", "two"):
        with zipfile.ZipFile(tmp_path / f"{name}.wacz") as package:
            digest = json.loads(package.read("datapackage-digest.json"))
            description = package.read("datapackage.json")
        assert digest["hash"] == f"sha256:{hashlib.sha256(description).hexdigest()}"
        signed = digest["signedData"]
        assert (signed["hash"], signed["publicKey"]) == (digest["hash"], public)
        assert signed["created"] == json.loads(description)["created"]
        assert is_signed_by(signed["hash"], signed["signature"], public)
        assert not is_signed_by(signed["hash"] + "x", signed["signature"], public)


@pytest.mark.parametrize("made", ["no key", "rsa"])
def test_a_file_that_is_no_signing_key_is_refused_in_one_line(kept: Settings, tmp_path: Path, made: str) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    secret = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(secret if made == "rsa" else b"no key")
    done = subprocess.run(
        _command(kept.home, "news", "-o", tmp_path / "news.wacz", "--sign-key", tmp_path / "key.pem"),
        capture_output=True, text=True, cwd=ROOT, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "key.pem" in done.stderr
    assert not (tmp_path / "news.wacz").exists()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL])
def test_an_interrupted_package_leaves_the_older_one_and_no_part(
    settings: Settings, tmp_path: Path, how: signal.Signals
) -> None:
    writer = WarcWriter(settings, "news")
    body = response(os.urandom(1 << 20), mime="image/png")
    for number in range(48):
        keep(writer, exchange(f"/{number}", body, id=f"exchange-{number}", digests=digests(body)))
    writer.close()
    folder = tmp_path / "out"
    folder.mkdir()
    draft, moment = folder / ".news.wacz.part", threading.Event()
    for _ in range(_TRIES):
        (folder / "news.wacz").write_bytes(b"the older one")
        with subprocess.Popen(
            ["nice", "-n", "19", *_command(settings.home, "news", "-o", folder / "news.wacz")], cwd=ROOT
        ) as process:
            while process.poll() is None and not _has_content(draft):
                # The writer stands still while this process looks, or waits for the processor.
                process.send_signal(signal.SIGCONT)
                moment.wait(0.005)
                process.send_signal(signal.SIGSTOP)
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
            code = process.wait(300)
        if code != 0:
            break  # else the package was whole before this process, on a busy machine, came to send the signal
    assert code != 0
    assert (folder / "news.wacz").read_bytes() == b"the older one"
    if how != signal.SIGKILL:
        assert (code, os.listdir(folder)) == (130, ["news.wacz"])
    assert _wacz(settings.home, "news", "-o", folder / "news.wacz")[0] == 0
    assert os.listdir(folder) == ["news.wacz"]
    with zipfile.ZipFile(folder / "news.wacz") as package:
        assert package.testzip() is None


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def test_two_processes_do_not_write_one_package(kept: Settings, tmp_path: Path) -> None:
    from archive.files import locked_draft

    with locked_draft(tmp_path / "news.wacz") as file:
        file.write(b"mine")
        done = subprocess.run(
            _command(kept.home, "news", "-o", tmp_path / "news.wacz"),
            capture_output=True, text=True, cwd=ROOT, timeout=100, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "is being written by another process" in done.stderr
    assert (tmp_path / "news.wacz").read_bytes() == b"mine"


@pytest.mark.parametrize("arguments", [("nowhere",), ("news", "-o", "{tmp}"), ("news", "--since", "yesterday")])
def test_bad_input_is_one_line(kept: Settings, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    given = [each.format(tmp=tmp_path) for each in arguments]
    done = subprocess.run(
        _command(kept.home, *given), capture_output=True, text=True, cwd=ROOT, timeout=100, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_many_captures_make_several_blocks(settings: Settings, tmp_path: Path) -> None:
    fill_index(settings, 3_100)
    assert _wacz(settings.home, "news", "-o", tmp_path / "news.wacz")[1]["captures"] == 3_100
    with zipfile.ZipFile(tmp_path / "news.wacz") as package:
        assert len(package.read("indexes/index.idx").splitlines()) == 3
        lines = _index(package)
    assert len(lines) == 3_100
    assert lines[0][0] == "org,example)/page?a=1&z=0"
    assert [line[:2] for line in lines] == sorted(line[:2] for line in lines)


def _site(settings: Settings) -> None:
    """A page that shows an image, and a page on the day after whose image is a revisit."""
    writer = WarcWriter(settings, "news")
    page = response(f'<title>Hill</title><p id=text>{TEXT}</p><img id=image src="/Logo.PNG?b=1&a=2">'.encode())
    image = response(png(), mime="image/png")
    original: Original | None = None
    for number, started in enumerate((DATE, DATE + DAY)):
        if number:
            page = response(f"<p id=text>{TEXT} Again.</p><img id=image src='/Logo.PNG?b=1&a=2'>".encode())
        keep(writer, exchange("/", page, id=f"p{number}", started=started, digests=digests(page)))
        facts: dict[str, Any] = {"id": f"i{number}", "started": started + 1_000_000, "digests": digests(image)}
        kept = keep(writer, exchange("/Logo.PNG?b=1&a=2", image, mime="image/png", **facts), original)
        original = Original.of(kept)
    writer.close()


@pytest.mark.browser
def test_replayweb_page_shows_the_pages_of_a_signed_package(settings: Settings, tmp_path: Path) -> None:
    _site(settings)
    _wacz(settings.home, "news", "-o", tmp_path / "news.wacz", "--sign-key", tmp_path / "key.pem")
    for timestamp, said in (("20261121081500", TEXT), ("20261122081500", f"{TEXT} Again.")):
        with playing(tmp_path / "news.wacz", "http://example.org/", timestamp) as frame:
            assert frame.locator("#text").inner_text(timeout=60_000) == said
            width = "image => image.decode().then(() => image.naturalWidth)"
            assert frame.locator("#image").evaluate(width) == 64


@pytest.mark.timeout(600)  # py-wacz may have to be installed first
def test_a_crawl_writes_the_package_of_its_job(garden: GardenSite, home: Path, tmp_path: Path) -> None:
    done = crawl(garden, home, "--limit-pages", "2", "--wacz", "--json")
    summary, made = (json.loads(line) for line in done.stdout.splitlines()[-2:])
    assert (made["event"], made["missing"], done.returncode) == ("wacz", [], 4), done.stderr
    run = Path(summary["folder"]).name
    package = home / "collections" / COLLECTION / "wacz" / f"{run}.wacz"
    assert Path(made["file"]) == package
    assert SEED in _read_all(package, tmp_path / "out")
    _is_valid(package)
    with zipfile.ZipFile(package) as opened:
        (_, seed) = _lines(opened, "pages/pages.jsonl")
    assert (seed["url"], seed["seed"]) == (SEED, True)
    assert "Linnet Hill" in seed["title"]
