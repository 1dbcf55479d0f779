"""The site of which Heritrix wrote the WARC files beside this module. `python site.py` serves the site and its name."""

from __future__ import annotations

import gzip
import io
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, UDPServer

from PIL import Image

WARC = Path(__file__).with_name("HILL-20261127202332904-00000-20337~crawler.example~8443.warc.gz")
"""Heritrix 3.13.0 wrote this file when it crawled the site."""
URL = "http://hill.example"
PAGES = {
    "/": b"<!doctype html><title>A hill</title><link rel=stylesheet href=/look.css><h1>Linnets</h1><img src=/hill.png>"
    b"<iframe src=/frame.html></iframe><a href=/second>second</a> <a href=/old>old</a> <a href=/again>again</a> "
    b"<a href=/unchanged>unchanged</a> <a href=/lacks>lacks</a> <a href=/gone>gone</a>",
    "/second": b"<!doctype html><title>Second</title><p>More linnets <img src=/hill.png>",
    "/unchanged": b"<!doctype html><title>Unchanged</title><p>A page with a validator <img src=/hill.png>",
    "/lacks": b"<!doctype html><title>Lacks</title><p>Pictures <img src=/removed.png> <img src=/left-out.png>",
    "/frame.html": b"<!doctype html><title>Frame</title><p>A frame",
}
PAGES["/again"] = PAGES["/"]
_STYLE = b"body { background: #dfd url(/hill.png) }"
_VALIDATOR = '"u1"'


def png() -> bytes:
    """A green picture."""
    out = io.BytesIO()
    Image.new("RGB", (400, 200), "green").save(out, "PNG")
    return out.getvalue()


class Names(BaseRequestHandler):
    """Each name has the address 127.0.0.1."""

    def handle(self) -> None:
        asked, socket = self.request
        question = asked[12 : asked.index(0, 12) + 5]
        head = asked[:2] + bytes.fromhex("8180 0001 0001 0000 0000")
        socket.sendto(head + question + bytes.fromhex("c00c 0001 0001 0000012c 0004 7f000001"), self.client_address)


class Pages(BaseHTTPRequestHandler):
    """/second has chunks and a coding for a client that takes them, and /unchanged has a validator."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Site", ""

    def do_GET(self) -> None:
        if self.path == "/old":
            self.answer(301, b"", "text/html", Location="/second")
        elif self.path == "/second" and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(PAGES[self.path], mtime=0)
            half = len(body) // 2
            chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:half], body[half:], b"")]
            coded = {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
            self.answer(200, b"".join(chunks), "text/html", **coded)
        elif self.path == "/unchanged" and self.headers.get("If-None-Match") == _VALIDATOR:
            self.answer(304, b"", "text/html", ETag=_VALIDATOR)
        elif self.path == "/unchanged":
            self.answer(200, PAGES[self.path], "text/html", ETag=_VALIDATOR)
        elif self.path in PAGES:
            self.answer(200, PAGES[self.path], "text/html")
        elif self.path == "/look.css":
            self.answer(200, _STYLE, "text/css")
        elif self.path == "/hill.png":
            self.answer(200, png(), "image/png")
        else:
            self.answer(404, b"none", "text/plain")

    def answer(self, status: int, body: bytes, content_type: str, **fields: str) -> None:
        """Send an answer of these fields, and with a length when the body has no chunks."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in fields.items():
            self.send_header(name, value)
        if "Transfer-Encoding" not in fields:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    threading.Thread(target=UDPServer(("127.0.0.1", 53), Names).serve_forever, daemon=True).start()
    HTTPServer(("127.0.0.1", 80), Pages).serve_forever()
