"""Row N64: every parameter of DeDuplicator is mapped, left out with a reason, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from admin.deduplicator import Unmapped, parameters_in, settings_of
from archive.settings import DedupSettings

TEMPLATE = {
    "enabled": "true",
    "index-location": "/home/netarkiv/cache/DEDUP_CRAWL_LOG/8-cache",
    "matching-method": "By URL",
    "try-equivalent": "true",
    "change-content-size": "false",
    "mime-filter": "^text/.*",
    "filter-mode": "Blacklist",
    "analysis-mode": "Timestamp",
    "log-level": "SEVERE",
    "origin": "",
    "origin-handling": "Use index information",
    "stats-per-host": "true",
}
"""As NetarchiveSuite's template for Heritrix 1 has it."""
BEAN = """<?xml version="1.0" encoding="UTF-8"?>
<beans xmlns="http://www.springframework.org/schema/beans">
  <bean id="other" class="org.archive.modules.Other"><property name="enabled" value="false"/></bean>
  <bean id="DeDuplicator" class="is.hi.bok.deduplicator.DeDuplicator">
    <property name="indexLocation" value="%{DEDUPLICATION_INDEX_LOCATION_PLACEHOLDER}"/>
    <property name="matchingMethod" value="URL"/>
    <property name="tryEquivalent" value="TRUE"/>
    <property name="changeContentSize" value="false"/>
    <property name="mimeFilter" value="^text/.*"/>
    <property name="filterMode" value="BLACKLIST"/>
    <property name="origin" value=""/>
    <property name="originHandling" value="INDEX"/>
    <property name="statsPerHost" value="true"/>
    <property name="revisitInWarcs" value="true"/>
  </bean>
</beans>
"""
ORDER = """<crawl-order><map name="write-processors">
  <newObject name="DeDuplicator" class="is.hi.bok.deduplicator.DeDuplicator">
    <boolean name="enabled">false</boolean><map name="filters"/>
    <string name="matching-method">By content digest</string>
    <string name="filter-mode">Whitelist</string><string name="mime-filter">image/.*</string>
  </newObject></map></crawl-order>
"""


def test_the_template_of_netarchivesuite_is_converted_to_settings() -> None:
    mapped = settings_of(TEMPLATE)

    assert mapped.settings == {
        "dedup.enabled": True,
        "dedup.match": "equivalent",
        "dedup.mime_filter": "^text/.*",
        "dedup.mime_filter_mode": "blacklist",
    }
    assert set(mapped.left_out) == {
        *("index-location", "log-level", "analysis-mode", "origin", "origin-handling", "stats-per-host")
    }
    assert all("\n" not in why and why for why in mapped.left_out.values())
    accounted = {*mapped.left_out, "enabled", "matching-method", "try-equivalent", "mime-filter", "filter-mode"}
    assert TEMPLATE.keys() - accounted == {"change-content-size"}, "which is false, as it is here"


def test_crawler_beans_and_order_xml_are_read(tmp_path: Path) -> None:
    for name, text, expected in [
        ("crawler-beans.cxml", BEAN, {"dedup.match": "equivalent", "dedup.mime_filter": "^text/.*"}),
        (
            "order.xml",
            ORDER,
            {
                "dedup.enabled": False,
                "dedup.match": "digest",
                "dedup.mime_filter": "image/.*",
                "dedup.mime_filter_mode": "whitelist",
            },
        ),
    ]:
        (tmp_path / name).write_text(text)
        settings = settings_of(parameters_in(tmp_path / name)).settings
        assert settings == settings | expected
        DedupSettings(**{key.removeprefix("dedup."): value for key, value in settings.items()})


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "url"),
        ({"matchingMethod": "DIGEST", "tryEquivalent": "true"}, "digest"),
        ({"matchingMethod": "URL", "tryEquivalent": "false"}, "url"),
    ],
)
def test_missing_parameters_have_the_deduplicators_defaults(given: dict[str, str], match: str) -> None:
    mapped = settings_of(given)

    assert mapped.settings["dedup.match"] == match
    assert mapped.settings["dedup.mime_filter"] == "^text/.*"
    assert ("try-equivalent" in mapped.left_out) is (match == "digest")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"change-content-size": "true"}, "change-content-size = true is not supported"),
        ({"changeContentSize": "TRUE"}, "change-content-size = true is not supported"),
        ({"revisitInWarcs": "false"}, "revisit-in-warcs = false is not supported"),
        ({"originHandling": "PROCESSOR", "origin": "crawl 7"}, "origin-handling = 'PROCESSOR' with origin = 'crawl 7'"),
        ({"jumpTo": "x"}, "jump-to = 'x' is not supported"),
        ({"matching-method": "By luck"}, "matching-method = 'By luck' must be one of"),
        ({"filter-mode": ""}, "filter-mode = '' must be one of blacklist, whitelist"),
        ({"enabled": "yes"}, "enabled = 'yes' must be one of true, false"),
        ({"stats-per-host": "some"}, "stats-per-host = 'some' must be"),
        ({"analysis-mode": "deep"}, "analysis-mode = 'deep' must be"),
        ({"mime-filter": "("}, "mime-filter = '(' is not a Python regular expression"),
        (
            {"search-strategy": "DIGEST_ANY"},
            "search-strategy is not a parameter of the DeDuplicator; known are enabled",
        ),
    ],
)
def test_a_parameter_that_can_not_be_converted_is_refused_in_one_line(given: dict[str, str], said: str) -> None:
    with pytest.raises(Unmapped) as caught:
        settings_of(given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "said"), [("<a", "is not XML"), ("<a/>", "has no bean or object of class")])
def test_a_file_without_a_deduplicator_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.xml").write_text(text)
    with pytest.raises(Unmapped, match=said):
        parameters_in(tmp_path / "x.xml")


def test_the_table_names_every_parameter() -> None:
    table = (Path(__file__).parents[2] / "docs" / "how-to" / "deduplicator.md").read_text("utf-8")
    known: Any = [*TEMPLATE, "use-sparse-range-filter", "filters", "revisit-in-warcs", "jump-to", "analyzeTimestamp"]

    assert [name for name in known if f"`{name}`" not in table] == []
