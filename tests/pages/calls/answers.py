"""The pages of this folder get these answers of the server."""

from __future__ import annotations

import gzip
import json
import re
from typing import Final

from support.pages.feature import Answers, Question, Reply, data


def _table_rows(question: Question) -> Reply:
    """Answer a DataTable's request for its rows, with the number that the table gave."""
    asked = dict(part.split("=", 1) for part in question.query.split("&"))
    at = int(asked["start"]) // 10
    rows = [f"<img src=thumbs/32x2{at}-page{at}.png>", f"Row {at}"]
    text = f'{{"draw": {asked["draw"]}, "recordsTotal": 30, "data": [["{rows[0]}", "{rows[1]}"]]}}'
    return data(text)


def _channel(question: Question) -> Reply:
    """Open a channel by POST, and deliver by GET."""
    if question.method == "POST":
        return Reply('51\n[[0,["c","S1d-4711","",8,12,30000]]]\n')
    return Reply('[[1,[{"documentChange":{"picture":"270x20-document.png"}}]]]')


_NO_STORE: Final = ("Cache-Control", "no-store")


def _upload(question: Question) -> Reply:
    """Answer a multipart form by the label in it, whatever its file is called."""
    found = re.search(rb'name="label"\r\n\r\n([a-z]+)', question.body)
    return data(json.dumps({"label": found[1].decode() if found else ""}), _NO_STORE)


def _volatile(question: Question) -> Reply:
    """Answer by the method that the body names, beside a random number and the time."""
    asked = json.loads(question.body)
    return data(json.dumps({"id": asked["id"], "result": f"{asked['method']}!"}), _NO_STORE)


def _rpc(question: Question) -> Reply:
    """Answer a call of JSON-RPC under the identifier that the client gave."""
    asked = json.loads(question.body)
    picture = {"leaf.get": "372x20-called.png", "leaf.list": "372x21-listed.png"}[asked["method"]]
    return data(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"picture": picture}}))


def _batch(question: Question) -> Reply:
    """Answer calls of JSON-RPC in one body, each under its own id."""
    calls = json.loads(question.body)
    return data(json.dumps([{"jsonrpc": "2.0", "id": call["id"], "result": call["method"]} for call in calls]))


def _binary(question: Question) -> Reply:
    """Answer a body of tags and lengths by the text of its second field."""
    found = re.search(rb"\x12.([a-z]+)", question.body)
    return Reply(b"\x0a" + (found[1] if found else b"none"), "application/x-protobuf", headers=(_NO_STORE,))


def _packed(question: Question) -> Reply:
    """Answer by the kind that a compressed body names."""
    asked = json.loads(gzip.decompress(question.body))
    return data(json.dumps({"answer": f"{asked['kind']} packed"}), _NO_STORE)


def _mixed(question: Question) -> Reply:
    """Answer each inner request of a batch, with a boundary of its own."""
    paths = re.findall(rb"GET /v1/(\w+)", question.body)
    parts = b"".join(
        b"--answer\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + b'{"name": "' + path + b'"}\r\n'
        for path in paths
    )
    return Reply(parts + b"--answer--", "multipart/mixed; boundary=answer")


ANSWERS: Final[Answers] = {
    "data-table": {"rows": _table_rows},
    "web-channel": {"Listen/channel": _channel},
    "named-upload": {"upload": _upload},
    "volatile-body": {"rpc": _volatile},
    "rpc-random-id": {"rpc": _rpc},
    "called-in-batch": {"rpc": _batch},
    "binary-calls": {"rpc/Trees": _binary},
    "packed-events": {"collect": _packed},
    "mixed-batch": {"batch": _mixed},
}
