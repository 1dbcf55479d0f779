"""admin/viewing/origins.py: which host names archived pages have."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.viewing.origins import Origins, host_label
from archive.names.name_rules import NAME_PATTERN
from archive.settings.load import SettingsError, load

NAMES = st.from_regex(NAME_PATTERN.rstrip("$") + r"\Z")


def origins(**view: str) -> Origins:
    return Origins(load({f"view.{name}": value for name, value in view.items()}, environment={}))


@given(st.sets(NAMES, min_size=2, max_size=20))
def test_each_collection_has_a_label_of_its_own(names: set[str]) -> None:
    labels = {host_label(name) for name in names}
    assert len(labels) == len(names)
    for label in labels:
        assert re.fullmatch("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", label)
        assert "--" not in label


def test_a_name_that_is_a_label_stands_for_itself_and_others_do_not_take_it() -> None:
    assert host_label("news-2026") == "news-2026"
    near = ["news", "News", "news.", "news_", "NEWS", "n.ews", "a" * 64, "a" * 63, "xn--news", "a-", "0"]
    assert len({host_label(name) for name in near}) == len(near)
    made = host_label("News")
    assert host_label(made) != made


def test_the_readers_own_machine_needs_no_setting() -> None:
    found = origins()
    for host in ("127.0.0.1:8082", "localhost:8082", "[::1]:8082", "view.news.localhost:8082"):
        assert found.archived_host(host) is None
        assert found.of_collection("news", host) == "http://news.localhost:8082"
    assert found.bar_origin("news", "127.0.0.1:8082") == "http://view.news.localhost:8082"
    assert found.bar_origin("news", "view.news.localhost:8082") == ""
    archived = found.archived_host("news.localhost:8082")
    assert archived is not None
    assert archived.has("news")
    assert not archived.has("other")


def test_on_a_network_archived_pages_run_only_where_a_setting_says() -> None:
    assert origins().of_collection("news", "archive.lan:8082") == ""
    assert origins(origin="https://replay.example.org").of_collection("news", "127.0.0.1:8082") == ""
    own = {"origin": "https://replay.example.org"}
    apart = origins(**own, collection_origin="https://*.replay.example.org")
    assert apart.of_collection("news", "replay.example.org") == "https://news.replay.example.org"
    found = apart.archived_host("news.replay.example.org")
    assert found is not None
    assert found.label == "news"
    for host in ("replay.example.org", "a.b.replay.example.org", "news.localhost", "xreplay.example.org", "", "x:y:z"):
        assert apart.archived_host(host) is None, host
    shared = origins(**own, collection_origin="https://pages.example.org")
    both = shared.archived_host("pages.example.org")
    assert both is not None
    assert both.has("news")
    assert both.has("other")


@pytest.mark.parametrize(
    ("view", "why"),
    [
        ({"collection_origin": "https://*.x.test"}, "view.origin"),
        ({"origin": "https://x.test", "collection_origin": "https://x.test"}, "another host"),
        ({"origin": "https://x.test", "collection_origin": "https://a.*.x.test"}, "scheme and a host alone"),
        ({"frame_ancestors": "https://ok.test, *; script-src *"}, "is no origin"),
    ],
)
def test_what_is_no_origin_is_refused(view: dict[str, str], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        origins(**view)
