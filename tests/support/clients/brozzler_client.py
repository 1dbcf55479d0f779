"""A client that speaks to a recording proxy as brozzler does: ordinary HTTP libraries, and a `Warcprox-Meta` header."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError

import httpx

from support.proxy.running_proxy import PATIENCE_SECONDS, RunningProxy


class MetaClient:
    """Fetches by httpx, and writes records by urllib, through one proxy."""

    def __init__(self, proxy: RunningProxy) -> None:
        self._proxy = proxy

    def get(self, url: str, meta: Mapping[str, Any] | None = None, *, method: str = "GET") -> httpx.Response:
        """A fresh client, as brozzler's one request at a time; nothing is read from the environment."""
        with httpx.Client(
            proxy=f"http://{self._proxy.ready['proxy']}",
            verify=self._proxy.trusting(),
            timeout=PATIENCE_SECONDS,
            trust_env=False,
        ) as client:
            return client.request(method, url, headers=_headers(meta))

    def write_record(
        self, url: str, block: bytes, meta: Mapping[str, Any] | None = None, *, kind: str = "resource"
    ) -> tuple[int, str, dict[str, Any]]:
        """WARCPROX_WRITE_RECORD: status, reason, and what the answer's Warcprox-Meta says."""
        headers = {"WARC-Type": kind, "Content-Type": "text/plain", "Host": "N/A", **_headers(meta)}
        asked = urllib.request.Request(url, data=block, headers=headers, method="WARCPROX_WRITE_RECORD")
        asked.type = "http"
        asked.set_proxy(self._proxy.ready["proxy"], "http")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.reason, json.loads(answer.headers.get("Warcprox-Meta") or "{}")
        except HTTPError as refused:
            with refused:
                return refused.code, refused.reason, json.loads(refused.headers.get("Warcprox-Meta") or "{}")


def told(answer: httpx.Response) -> dict[str, Any]:
    """What an answer's Warcprox-Meta says; nothing when it has none."""
    found = json.loads(answer.headers.get("Warcprox-Meta", "{}"))
    assert isinstance(found, dict)
    return found


def _headers(meta: Mapping[str, Any] | None) -> dict[str, str]:
    return {} if meta is None else {"Warcprox-Meta": json.dumps(meta)}
