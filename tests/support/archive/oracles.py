"""What other people's readers say of our WARC files: warcio and fastwarc, every digest verified."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import warnings
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from support.processes.python_code import PLACES, code_command


def warcio_kinds(path: Path, check_digests: bool | str = "raise") -> list[str]:
    """The record types in order; raises when the file is damaged or, unless told otherwise, a digest is wrong."""
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests=check_digests):
            record.content_stream().read()
            found.append(record.rec_type)
    return found


def fastwarc_check(path: Path) -> None:
    """Fails unless FastWARC finds every block digest right, and each payload digest that it can judge.

    It takes no chunks apart, knows a payload only of HTTP messages, and asks of a revisit's what its original had.
    `fastwarc check` is no help: 1.0.7, when told to be quiet, ends with 0 whatever it found.
    """
    script = (
        "import sys; from fastwarc.warc import ArchiveIterator\n"
        "seen = 0\n"
        "for record in ArchiveIterator(open(sys.argv[1], 'rb'), parse_http=False):\n"
        "    seen, kind = seen + 1, record.headers['WARC-Type']\n"
        "    right = 'WARC-Block-Digest' not in record.headers or record.verify_block_digest()\n"
        "    if right and kind == 'response' and record.is_http and 'WARC-Payload-Digest' in record.headers:\n"
        "        record.parse_http()\n"
        "        right = 'Transfer-Encoding' in record.http_headers or record.verify_payload_digest()\n"
        "    if not right:\n"
        "        print('wrong digest in', kind, record.record_id)\n"
        "print('records:', seen)\n"
    )
    done = _run(script, path)
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert said == [f"records: {len(warcio_kinds(path, check_digests=False))}"], done.stdout


def jwarc_check(path: Path) -> None:
    """Fails unless `jwarc validate` finds nothing; skips the test where JWARC_JAR names no jar of it."""
    jar = os.environ.get("JWARC_JAR") or pytest.skip("no jwarc; JWARC_JAR=jwarc.jar, with Java")
    done = subprocess.run(["java", "-jar", jar, "validate", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def fastwarc_zstd_kinds(path: Path) -> list[str]:
    """The record types of a `.warc.zst`; fails unless every block digest is right."""
    script = (
        "import sys; from fastwarc.stream_io import ZstdReader; from fastwarc.warc import ArchiveIterator\n"
        "for record in ArchiveIterator(ZstdReader(sys.argv[1]), parse_http=False):\n"
        "    kind = record.headers['WARC-Type']\n"
        "    print(kind if record.verify_block_digest() else 'wrong')\n"
    )
    done = _run(script, path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def _run(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **PLACES}
    command = code_command(script, str(path))
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def write_with_warcio(path: Path) -> None:
    """A WARC as warcio writes it: warcinfo, response, request."""
    with path.open("wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # warcio leaves its temporary files to the collector
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        writer.write_record(writer.create_warcinfo_record("a.warc.gz", {"software": "x"}))
        answered = StatusAndHeaders("200 OK", [("Content-Type", "text/plain")], protocol="HTTP/1.0")
        asked = StatusAndHeaders("GET / HTTP/1.0", [("Host", "a")], is_http_request=True)
        answer = writer.create_warc_record("http://a/", "response", io.BytesIO(b"text"), http_headers=answered)
        question = writer.create_warc_record("http://a/", "request", io.BytesIO(), http_headers=asked)
        writer.write_request_response_pair(question, answer)
        del writer, answer, question
        gc.collect(1)  # a look at all objects of the tests would take a second
