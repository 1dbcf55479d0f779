"""A site whose answers depend on more than their URL: on bodies, headers, earlier requests and the clock.

`PAGE` asks for all of them and writes what it got into `document.title` as JSON, when it is done.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from support.clients.websocket import CLOSE, TEXT, frame

PAGE = """<!doctype html><meta charset=utf-8><title>asking</title><body><script>
const text = async (url, options) => (await fetch(url, {cache: 'no-store', ...options})).text();
const json = body => ({method: 'POST', body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}});
const parts = {
  polls: async () => [await text('/poll'), await text('/poll'), await text('/poll')],
  bodies: async () => [await text('/search', json({q: 'moss'})), await text('/search', json({q: 'fern'}))],
  forms: async () => [await text('/form', {method: 'POST', body: new URLSearchParams({a: 'ä b'})}),
                      await text('/form', {method: 'PUT', body: 'plain'})],
  volatileBody: () => text('/track', json({q: 'oak', at: Date.now(), n: Math.random()})),
  bust: () => text('/data?id=5&_=' + Date.now() + Math.random()),
  clock: () => text('/at/' + Date.now() + '/list'),
  languages: async () => [await text('/hello', {headers: {'Accept-Language': 'de'}}),
                          await text('/hello', {headers: {'Accept-Language': 'en'}}),
                          await text('/hello', {headers: {'Accept-Language': 'de'}})],
  jsonp: () => new Promise(done => {
    const name = 'jsonp_' + Date.now() + Math.floor(Math.random() * 1e6), script = document.createElement('script');
    window[name] = done;
    script.src = '/jsonp?q=1&callback=' + name;
    document.body.append(script);
  }),
  part: () => text('/film', {headers: {Range: 'bytes=2-5'}}),
  socket: () => new Promise(done => {
    const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket'), heard = [];
    socket.onmessage = event => {
      heard.push(event.data);
      if (heard.length === 1) socket.send('moss');
      if (heard.length === 3) socket.send('fern');
      if (heard.length === 5) socket.close();
    };
    socket.onclose = () => done(heard);
    socket.onerror = () => done('error');
  }),
  events: () => new Promise(done => {
    const source = new EventSource('/events'), heard = [];
    source.onmessage = event => { heard.push(event.data); if (heard.length === 4) { source.close(); done(heard); } };
  }),
  worker: () => new Promise(done => {
    const code = "fetch(origin + '/poll?worker').then(r => r.text()).then(postMessage, () => postMessage('error'))";
    const worker = new Worker(URL.createObjectURL(new Blob([`const origin = '${location.origin}';` + code])));
    worker.onmessage = event => done(event.data);
  }),
};
const limit = 60000;
const late = name => new Promise(done => setTimeout(() => done('late'), limit));
Promise.all(Object.entries(parts).map(async ([name, part]) =>
  [name, await Promise.race([part().catch(String), late(name)])]
)).then(found => { document.title = 'done ' + JSON.stringify(Object.fromEntries(found)); });
</script>"""
FILM = b"0123456789"
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class DynamicSite:
    """Runs from `with` to its end. `asked` has the method and the target of each request."""

    def __init__(self, address: str) -> None:
        self.asked: list[tuple[str, str]] = []
        self._server = ThreadingHTTPServer((address, 0), self._handler())
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site, counts, lock = self, Counter[str](), threading.Lock()

        def count(name: str) -> int:
            with lock:
                counts[name] += 1
                return counts[name]

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                site.asked.append((self.command, self.path))
                parts = urlsplit(self.path)
                if self.headers.get("Upgrade", "").lower() == "websocket":
                    self._socket(count("socket"))
                elif parts.path == "/":
                    self._send(PAGE, "text/html; charset=utf-8")
                elif parts.path == "/poll":
                    self._send(f"answer {count(self.path)}")
                elif parts.path == "/data":
                    self._send(f"data {parse_qs(parts.query)['id']}")
                elif parts.path.startswith("/at/"):
                    self._send(f"list {count('list')}")
                elif parts.path == "/hello":
                    language = self.headers["Accept-Language"]
                    self._send(
                        {"de": "Guten Tag", "en": "Good day"}[language], more=("Vary", "Accept-Language, Origin")
                    )
                elif parts.path == "/jsonp":
                    name = parse_qs(parts.query)["callback"][0]
                    self._send(f"/**/{name}({json.dumps({'answer': 42})});", "text/javascript")
                elif parts.path == "/film":
                    self._send(FILM[2:6].decode(), "video/mp4", status=206, more=("Content-Range", "bytes 2-5/10"))
                elif parts.path == "/events":
                    first = 2 * count("events") - 1
                    self._send(f"retry: 10\ndata: {first}\n\ndata: {first + 1}\n\n", "text/event-stream")
                else:
                    self._send("no such page", status=404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                site.asked.append((self.command, self.path))
                self._send(f"{self.command} {self.path} {hashlib.sha256(body).hexdigest()}")

            do_PUT = do_POST

            def _send(
                self, text: str, kind: str = "text/plain", *, status: int = 200, more: tuple[str, str] | None = None
            ) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                if more is not None:
                    self.send_header(*more)
                self.end_headers()
                self.wfile.write(body)

            def _socket(self, number: int) -> None:
                key = self.headers["Sec-WebSocket-Key"].encode()
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                accept = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
                self.send_header("Sec-WebSocket-Accept", accept.decode())
                self.end_headers()
                self.wfile.write(frame(TEXT, f"welcome {number}".encode()))
                while (message := self._frame()) is not None:
                    opcode, payload = message
                    if opcode == CLOSE:
                        self.wfile.write(frame(CLOSE, payload))
                        break
                    self.wfile.write(frame(TEXT, b"you said " + payload) + frame(TEXT, b"and again " + payload))
                self.close_connection = True

            def _frame(self) -> tuple[int, bytes] | None:
                """A short frame of the client."""
                head = self.rfile.read(2)
                if len(head) < 2:
                    return None
                size = head[1] & 0x7F
                mask, payload = self.rfile.read(4), self.rfile.read(size)
                return head[0] & 0x0F, bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))

        return Handler
