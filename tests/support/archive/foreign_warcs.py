"""WARC files as Heritrix 3.2, wget, warcprox and Browsertrix write them, made by hand: their fields and their order."""

from __future__ import annotations

import gzip
import json
import uuid
import zipfile
from base64 import b32encode
from collections.abc import Callable
from hashlib import sha1, sha256
from pathlib import Path

PAGE = b"<!doctype html><title>A hill</title><a href=/second>on</a><p>Linnets."
SECOND = b"<!doctype html><title>Second</title><p>More linnets."
PROFILES = "http://netpreserve.org/warc/1.0/revisit"
PATHS = {"/": PAGE, "/second": SECOND, "/again": PAGE, "/unchanged": SECOND}
"""What a replay of each of the files has to answer."""


def base32(payload: bytes) -> str:
    return f"sha1:{b32encode(sha1(payload).digest()).decode()}"


def hexadecimal(payload: bytes) -> str:
    return f"sha1:{sha1(payload).hexdigest()}"


def record(version: str, fields: dict[str, str], block: bytes) -> bytes:
    """Return one record without a compression. Its length is added."""
    lines = [version, *(f"{name}: {value}" for name, value in fields.items()), f"Content-Length: {len(block)}"]
    return "\r\n".join((*lines, "", "")).encode() + block + b"\r\n\r\n"


def new_id() -> str:
    return f"<urn:uuid:{uuid.uuid4()}>"


def http(payload: bytes, status: str = "200 OK", *lines: str) -> bytes:
    head = (f"HTTP/1.1 {status}", "Content-Type: text/html", *lines, "", "")
    return "\r\n".join(head).encode() + payload


def asked(host: str, path: str, agent: str) -> bytes:
    return f"GET {path} HTTP/1.0\r\nUser-Agent: {agent}\r\nConnection: close\r\nHost: {host}\r\n\r\n".encode()


def by_old_heritrix(host: str) -> bytes:
    """Heritrix 3 writes response, request and metadata in this order, and names of hosts as records.

    Before release 3.3, its revisits do not say to what they refer.
    """
    agent = "Mozilla/5.0 (compatible; heritrix/3.2.0 +http://library.example)"
    second = 7
    made = [
        record(
            "WARC/1.0",
            {
                "WARC-Type": "warcinfo",
                "WARC-Date": "2026-03-04T05:06:07Z",
                "WARC-Filename": "WEB-20260304050607890-00000-4711~crawler~8443.warc.gz",
                "WARC-Record-ID": new_id(),
                "Content-Type": "application/warc-fields",
            },
            b"software: Heritrix/3.2.0 http://crawler.archive.org\r\nip: 192.0.2.7\r\nhostname: crawler\r\n"
            b"format: WARC File Format 1.0\r\nconformsTo: http://bibnum.bnf.fr/WARC/draft.pdf\r\n"
            b"isPartOf: basic\r\nrobots: obey\r\nhttp-header-user-agent: %b\r\n\r\n" % agent.encode(),
        ),
        record(
            "WARC/1.0",
            {
                "WARC-Type": "response",
                "WARC-Target-URI": f"dns:{host}",
                "WARC-Date": "2026-03-04T05:06:07Z",
                "WARC-IP-Address": "192.0.2.53",
                "WARC-Record-ID": new_id(),
                "Content-Type": "text/dns",
            },
            f"20260304050607\n{host}.\t\t300\tIN\tA\t192.0.2.1\n".encode(),
        ),
    ]  # fmt: skip

    def add(path: str, payload: bytes, block: bytes, kind: str = "response", **more: str) -> None:
        nonlocal second
        second += 1
        identity, date = new_id(), f"2026-03-04T05:06:{second:02}Z"
        common = {"WARC-Target-URI": f"http://{host}{path}", "WARC-Date": date}
        fields = {
            "WARC-Type": kind,
            **common,
            **({"WARC-Payload-Digest": base32(payload)} if payload else {}),
            "WARC-IP-Address": "192.0.2.1",
            **{name.replace("_", "-"): value for name, value in more.items()},
            "WARC-Record-ID": identity,
            "Content-Type": "application/http; msgtype=response",
        }
        made.append(record("WARC/1.0", fields, block))
        concurrent = {"WARC-Concurrent-To": identity, "WARC-Record-ID": new_id()}
        request = {"WARC-Type": "request", **common, **concurrent, "Content-Type": "application/http; msgtype=request"}
        made.append(record("WARC/1.0", request, asked(host, path, agent)))
        metadata = {"WARC-Type": "metadata", **common, **concurrent, "WARC-Record-ID": new_id()}
        said = f"via: http://{host}/\r\nhopsFromSeed: L\r\nfetchTimeMs: 12\r\ncharsetForLinkExtraction: UTF-8\r\n"
        said += f"outlink: http://{host}/second L a/@href\r\n\r\n"
        made.append(record("WARC/1.0", {**metadata, "Content-Type": "application/warc-fields"}, said.encode()))

    add("/", PAGE, http(PAGE, "200 OK", "Connection: close"))
    add("/second", SECOND, http(SECOND, "200 OK", 'ETag: "s1"', f"Content-Length: {len(SECOND)}"))
    add("/unchanged", SECOND, http(SECOND, "200 OK", 'ETag: "u1"'))
    same = {"WARC_Profile": f"{PROFILES}/identical-payload-digest", "WARC_Truncated": "length"}
    add("/", PAGE, http(b"", "200 OK", "X-Again: yes"), "revisit", **same)
    unchanged = {"WARC_Profile": f"{PROFILES}/server-not-modified", "WARC_Truncated": "length", "WARC_Etag": '"u1"'}
    add("/unchanged", b"", http(b"", "304 Not Modified", 'ETag: "u1"'), "revisit", **unchanged)
    return b"".join(map(gzip.compress, made))


def by_wget(host: str) -> bytes:
    """Wget puts brackets around addresses, writes requests before their responses, and adds its log at the end."""
    info = new_id()
    made = [
        record(
            "WARC/1.0",
            {
                "WARC-Type": "warcinfo", "Content-Type": "application/warc-fields", "WARC-Date": "2026-03-04T05:06:07Z",
                "WARC-Record-ID": info, "WARC-Filename": "crawl.warc.gz",
            },
            b"software: Wget/1.24\r\n",
        )
    ]  # fmt: skip

    def add(path: str, payload: bytes, block: bytes, kind: str = "response", **more: str) -> str:
        common = {
            "WARC-Target-URI": f"<http://{host}{path}>",
            "WARC-Date": "2026-03-04T05:06:08Z",
            "WARC-IP-Address": "192.0.2.1",
        }
        request, identity = new_id(), new_id()
        question = asked(host, path, "Wget/1.24")
        fields = {
            "WARC-Type": "request", **common, "Content-Type": "application/http;msgtype=request",
            "WARC-Record-ID": request, "WARC-Warcinfo-ID": info, "WARC-Block-Digest": base32(question),
        }  # fmt: skip
        made.append(record("WARC/1.0", fields, question))
        fields = {
            "WARC-Type": kind, "WARC-Record-ID": identity, "WARC-Warcinfo-ID": info, "WARC-Concurrent-To": request,
            **common, "WARC-Block-Digest": base32(block), "WARC-Payload-Digest": base32(payload),
            "Content-Type": "application/http;msgtype=response",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }  # fmt: skip
        made.append(record("WARC/1.0", fields, block))
        return identity

    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PAGE), PAGE)
    first = add("/", PAGE, http(chunked, "200 OK", "Transfer-Encoding: chunked"))
    add("/second", SECOND, http(SECOND))
    add("/unchanged", SECOND, http(SECOND))
    same = {"WARC_Profile": f"{PROFILES}/identical-payload-digest", "WARC_Truncated": "length"}
    add("/again", PAGE, http(b""), "revisit", **same, WARC_Refers_To=first)
    for kind, name, block in (
        ("metadata", "MANIFEST.txt", b"<urn:uuid:1>\n"),
        ("resource", "wget_arguments.txt", b'"http://hill.example/"\n'),
        ("resource", "wget.log", b"2026-03-04 saved\n"),
    ):
        fields = {
            "WARC-Type": kind, "WARC-Record-ID": new_id(), "WARC-Warcinfo-ID": info,
            "WARC-Date": "2026-03-04T05:06:09Z", "WARC-Target-URI": f"<metadata://gnu.org/software/wget/warc/{name}>",
            "WARC-Block-Digest": base32(block),
            "Content-Type": "text/plain",
        }  # fmt: skip
        made.append(record("WARC/1.0", fields, block))
    return b"".join(map(gzip.compress, made))


def by_warcprox(host: str) -> bytes:
    """Warcprox writes digests in hexadecimal digits, and a request behind each response."""
    made = [
        record(
            "WARC/1.0",
            {
                "WARC-Type": "warcinfo", "WARC-Record-ID": new_id(), "WARC-Date": "2026-03-04T05:06:07Z",
                "WARC-Filename": "warcprox-20260304050607890-00000-abcdefgh.warc.gz",
                "Content-Type": "application/warc-fields",
            },
            b"software: warcprox 2.6.0\r\nhostname: crawler\r\nip: 192.0.2.7\r\nformat: WARC File Format 1.0\r\n",
        )
    ]  # fmt: skip

    def add(path: str, payload: bytes, block: bytes, kind: str = "response", **more: str) -> None:
        common = {"WARC-Date": "2026-03-04T05:06:08Z", "WARC-Target-URI": f"http://{host}{path}"}
        identity = new_id()
        fields = {
            "WARC-Type": kind, "WARC-Record-ID": identity, **common, "WARC-IP-Address": "192.0.2.1",
            **{name.replace("_", "-"): value for name, value in more.items()},
            "WARC-Payload-Digest": hexadecimal(payload), "Content-Type": "application/http;msgtype=response",
            "WARC-Block-Digest": hexadecimal(block),
        }  # fmt: skip
        made.append(record("WARC/1.0", fields, block))
        question = asked(host, path, "browser")
        fields = {
            "WARC-Type": "request", "WARC-Record-ID": new_id(), **common, "WARC-Concurrent-To": identity,
            "Content-Type": "application/http;msgtype=request", "WARC-Block-Digest": hexadecimal(question),
        }  # fmt: skip
        made.append(record("WARC/1.0", fields, question))

    add("/", PAGE, http(PAGE))
    add("/second", SECOND, http(SECOND))
    add("/unchanged", SECOND, http(SECOND))
    refers = {"WARC_Refers_To_Target_URI": f"http://{host}/", "WARC_Refers_To_Date": "2026-03-04T05:06:08Z"}
    add("/again", PAGE, http(b""), "revisit", WARC_Profile=f"{PROFILES}/identical-payload-digest", **refers)
    return b"".join(map(gzip.compress, made))


def record_of_page(kind: str, url: str, block: bytes, content_type: str, *fields: str) -> bytes:
    head = [
        "WARC/1.1", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", "WARC-Date: 2026-03-04T05:06:07.890Z",
        f"WARC-Record-ID: <urn:uuid:{sha256(url.encode() + kind.encode()).hexdigest()[:32]}>",
        f"Content-Type: {content_type}", f"Content-Length: {len(block)}", "WARC-Page-ID: page-1", *fields,
    ]  # fmt: skip
    return gzip.compress("\r\n".join((*head, "", "")).encode() + block + b"\r\n\r\n")


def by_browsertrix() -> bytes:
    """A WARC file as Browsertrix 1.x writes one: status lines of HTTP/2, and records about the page."""
    page, url = PAGE, "https://hill.example/"
    info = {"pageid": "page-1", "url": url, "urls": {url: {"status": 200, "mime": "text/html", "type": "document"}}}
    head = b"HTTP/2 200\r\ncontent-type: text/html\r\n\r\n"
    return b"".join(
        (
            record_of_page("response", url, head + page, "application/http; msgtype=response"),
            record_of_page("resource", f"urn:text:{url}", b"Linnets on a hill.", "text/plain"),
            record_of_page("resource", f"urn:pageinfo:{url}", json.dumps(info).encode(), "application/json"),
        )
    )


def package_of(
    path: Path, warc: bytes, pages: str = "", promised: str = "", member: str = "archive/data.warc.gz"
) -> Path:
    digest = promised or f"sha256:{sha256(warc).hexdigest()}"
    described = {"profile": "data-package", "resources": [{"path": member, "hash": digest, "bytes": len(warc)}]}
    with zipfile.ZipFile(path, "w") as package:
        package.writestr(member, warc)
        package.writestr("datapackage.json", json.dumps(described), zipfile.ZIP_DEFLATED)
        if pages:
            package.writestr("pages/pages.jsonl", pages, zipfile.ZIP_DEFLATED)
    return path


LISTED = (
    '{"format":"json-pages-1.0","id":"pages","title":"Pages"}\n'
    '{"id":"page-1","url":"https://hill.example/","title":"The hill","ts":"2026-03-04T05:06:07.890Z","seed":true}\n'
)


WRITERS: dict[str, Callable[[str], bytes]] = {
    "old-heritrix.example": by_old_heritrix,
    "wget.example": by_wget,
    "warcprox.example": by_warcprox,
}
"""What makes the file of a site, by the name of the site."""
