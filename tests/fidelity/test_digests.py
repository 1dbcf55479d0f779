"""The digest algorithm is a setting, and may change in mid-life of a collection."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from blake3 import blake3
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.running_proxy import RunningProxy

from archive.digest import Algorithm
from archive.warc.upkeep.check import check

ADDRESS = "127.0.1.77"
BODY = page(b"/page", 5000)
NAMED = {
    "sha1": f"sha1:{base64.b32encode(hashlib.sha1(BODY).digest()).decode()}",
    "sha256": f"sha256:{hashlib.sha256(BODY).hexdigest()}",
    "blake3": f"blake3:{blake3(BODY).hexdigest()}",
}


@pytest.mark.parametrize(
    ("before", "after"), [("sha1", "sha256"), pytest.param("blake3", "sha1", marks=pytest.mark.slow)]
)
def test_a_collection_goes_on_with_another_algorithm_and_every_revisit_can_be_verified(
    tmp_path: Path, before: Algorithm, after: Algorithm
) -> None:
    with RawOrigin(ADDRESS) as origin:
        origin.otherwise(lambda _: (Send(response(BODY)),))
        for algorithm in (before, after):
            with RunningProxy(tmp_path / "home", {"archive.digest": algorithm}) as proxy:
                for path in ("/one", "/two"):
                    assert proxy.get(origin.url(f"/{algorithm}{path}")).body == BODY

        kinds = {
            (algorithm, path): (record.kind, record.payload_digest)
            for algorithm in (before, after)
            for path in ("/one", "/two")
            for record in proxy.records().of(origin.url(f"/{algorithm}{path}"), "response", "revisit")
        }
    assert kinds == {
        (before, "/one"): ("response", NAMED[before]),
        (before, "/two"): ("revisit", NAMED[before]),
        (after, "/one"): ("response", NAMED[after]),
        (after, "/two"): ("revisit", NAMED[after]),
    }
    assert list(check(proxy.folder())) == []
    assert {line["digest"] for line in proxy.sidecar_lines()} == {
        NAMED[name].removeprefix("sha1:") for name in (before, after)
    }
