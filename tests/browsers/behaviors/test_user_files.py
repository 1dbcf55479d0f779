"""Behaviours of users run beside our own: classes, recorded flows, brozzler's templates, browsertrix-behaviors."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.browsers.behavior_site import FeatureSite
from support.browsers.visits import Fleet, visited_together

from browsers.behaviors.user_files.flows import read_flow
from browsers.behaviors.user_files.hosted import ScriptError
from browsers.behaviors.user_files.scripts import BehaviorScripts
from browsers.ghosts.ghost import Ghost
from browsers.visit import Visit

CLASS = """
export class Steps {
  static id = 'Steps';
  static isMatch() { return location.pathname === '/load-more.html'; }
  static init() { return {state: {clicks: 0}}; }
  async* run(context) {
    const {Lib} = context;
    for (let i = 0; i < 5; i++) {
      const button = Lib.xpathNode("//button[contains(text(), 'Load more')]");
      if (!button) return;
      await Lib.scrollAndClick(button, 300);
      yield Lib.getState(context, 'clicked', 'clicks');
    }
    Lib.addLink('/from-class');
    yield Lib.getState(context, 'done');
  }
}
"""
ENDLESS = """
class Endless {
  static isMatch() { return true; }
  async* run({Lib}) { for (;;) { await Lib.sleep(50); yield {}; } }
}
"""
RULES = """
- url_regex: '^.*/other\\.html$'
  behavior_js_template: missing-page.js
- url_regex: '^http://.*/load-more\\.html$'
  behavior_js_template: clicks.js.j2
  request_idle_timeout_sec: 1
  default_parameters:
    selector: '#button'
    times: 3
- url_regex: '^.*$'
  behavior_js_template: missing-page.js
"""
TEMPLATE = """
var clicked = 0;
var timer = setInterval(function () {
  var element = document.querySelector({{ selector|tojson }});
  if (element && clicked < {{ times }}) { clicked += 1; element.click(); } else { clearInterval(timer); timer = null; }
}, 200);
var umbraBehaviorFinished = function () {
  return {finished: timer === null, outlinks: new Set([location.origin + '/from-umbra'])};
};
"""


@pytest.fixture(scope="module")
def site() -> Iterator[FeatureSite]:
    with FeatureSite("127.0.1.78") as site:
        yield site


type Seen = tuple[Visit, set[str], list[dict[str, Any]]]
"""The result of a visit, the paths that were kept, and the outcomes of its behaviours."""


def visited(fleet: Fleet, urls: Sequence[str], **browsers: Any) -> list[Seen]:
    """Visits of the pages with these settings."""
    settings = {"behaviors": "", "behavior_seconds": 40, "sandbox": False, "page_records": "text", **browsers}
    visitor = Ghost(fleet.settings(**settings), [fleet.control], fleet.trusted)
    orders = [fleet.order(url) for url in urls]
    try:
        visits = visited_together(visitor, orders)
    finally:
        visitor.close()
    found: list[Seen] = []
    for order, visit in zip(orders, visits, strict=True):
        kept = fleet.proxy.records(order.collection)
        (info,) = kept.of(f"urn:pageinfo:{order.url}")
        paths = {urlsplit(record.url).path for record in kept.kinds("response", "revisit")}
        found.append((visit, paths, json.loads(info.block)["behaviors"]))
    return found


def more(*numbers: int) -> set[str]:
    """The paths of these batches."""
    return {f"/hit/more-{number}.json" for number in numbers}


@pytest.mark.browser
def test_a_class_runs_on_the_pages_for_which_it_is(fleet: Fleet, site: FeatureSite, tmp_path: Path) -> None:
    file = tmp_path / "steps.js"
    file.write_text(CLASS, "utf-8")

    urls = [site.url("/load-more.html"), site.url("/tabs.html")]
    (visit, paths, outcomes), (_, others, none) = visited(fleet, urls, behavior_scripts=str(file))

    assert more(1, 2, 3, 4, 5) <= paths
    assert [(each["id"], each["ended"]) for each in outcomes] == [("class:steps", "done")]
    assert outcomes[0]["steps"] >= 5
    assert site.url("/from-class") in {link.url for link in visit.links}
    assert not others & {"/hit/tab-2.json"}
    assert [(each["steps"], each["ended"]) for each in none] == [(0, "done")]


@pytest.mark.browser
def test_a_class_without_an_end_is_ended(fleet: Fleet, site: FeatureSite, tmp_path: Path) -> None:
    file = tmp_path / "endless.js"
    file.write_text(ENDLESS, "utf-8")

    ((visit, _, outcomes),) = visited(fleet, [site.url("/tabs.html")], behavior_scripts=str(file), behavior_seconds=1)

    assert visit.code == 200
    assert [(each["id"], each["ended"]) for each in outcomes] == [("class:endless", "timeout")]
    assert "class:endless-timeout" in visit.annotations


@pytest.mark.browser
def test_recorded_flows_are_played_and_an_element_that_is_missing_is_named(
    fleet: Fleet, site: FeatureSite, tmp_path: Path
) -> None:
    steps = [
        {"type": "setViewport", "width": 800, "height": 600},
        {"type": "navigate", "url": site.url("/load-more.html")},
        {"type": "click", "target": "main", "selectors": [["aria/No such"], ["aria/Load more"]], "offsetX": 1},
        {"type": "click", "selectors": [["xpath///*[@id='button']"]]},
        {"type": "waitForExpression", "expression": "document.querySelectorAll('li').length === 3"},
        {"type": "click", "selectors": [["text/Load more"]]},
    ]
    missing = [
        {"type": "navigate", "url": site.url("/tabs.html")},
        {"type": "click", "timeout": 300, "selectors": [["#nowhere"]]},
    ]
    files = [tmp_path / "flow.json", tmp_path / "missing.json"]
    for file, flow in zip(files, ({"title": "Three batches", "steps": steps}, {"steps": missing}), strict=True):
        file.write_text(json.dumps({"title": "Gone", **flow}), "utf-8")

    urls = [site.url("/load-more.html"), site.url("/tabs.html")]
    (_, paths, outcomes), (visit, _, of_missing) = visited(fleet, urls, behavior_scripts=[str(file) for file in files])

    assert more(1, 2, 3) <= paths
    assert not more(4) & paths
    assert [(each["id"], each["steps"], each["ended"]) for each in outcomes] == [("flow:Three batches", 4, "done")]
    assert [each["ended"] for each in of_missing] == ["error"]
    assert "found no element" in of_missing[0]["detail"]
    assert "flow:Gone-error" in visit.annotations


@pytest.mark.browser
def test_a_template_of_brozzler_is_rendered_and_awaited(fleet: Fleet, site: FeatureSite, tmp_path: Path) -> None:
    (tmp_path / "js-templates").mkdir()
    (tmp_path / "js-templates" / "clicks.js.j2").write_text(TEMPLATE, "utf-8")
    (tmp_path / "js-templates" / "missing-page.js").write_text("throw new Error('wrong rule')", "utf-8")
    file = tmp_path / "behaviors.yaml"
    file.write_text(RULES, "utf-8")

    ((visit, paths, outcomes),) = visited(fleet, [site.url("/load-more.html")], behavior_scripts=str(file))

    assert more(1, 2, 3) <= paths
    assert not more(4) & paths
    assert [(each["id"], each["ended"]) for each in outcomes] == [("umbra:clicks.js.j2", "done")]
    assert site.url("/from-umbra") in {link.url for link in visit.links}


@pytest.mark.slow
@pytest.mark.browser
def test_an_unmodified_browsertrix_behaviors_runs(fleet: Fleet, site: FeatureSite, tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm, which fetches browsertrix-behaviors, is not installed")
    pack = subprocess.run(
        [npm, "pack", "browsertrix-behaviors@0.8.4"], cwd=tmp_path, capture_output=True, text=True, timeout=90
    )
    if pack.returncode:
        pytest.skip(f"npm has no browsertrix-behaviors: {pack.stderr[-200:]}")
    shutil.unpack_archive(tmp_path / "browsertrix-behaviors-0.8.4.tgz", tmp_path, filter="data")
    program = tmp_path / "package" / "dist" / "behaviors.js"

    ((_, paths, outcomes),) = visited(fleet, [site.url("/sources.html")], browsertrix_behaviors=str(program))

    assert {"/hit/s-2.png", "/hit/s-3.png", "/hit/lazy.jpg"} <= paths
    assert [(each["id"], each["ended"]) for each in outcomes] == [("browsertrix", "done")]
    assert outcomes[0]["steps"] > 0


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.js", "const a = 1;", "has no class"),
        ("a.json", "{", "is no recorded flow"),
        ("a.json", '{"steps": [{"type": "teleport"}]}', "'teleport'"),
        ("a.json", '{"steps": [{"type": "click"}]}', "no step of the type navigate"),
        ("a.yaml", "- url_regex: x", "without behavior_js_template"),
        ("a.yaml", "- behavior_js_template: gone.js", "can't be used"),
        ("a.yaml", "- &a b", "can't be read"),
        ("a.txt", "", "must end in .js"),
        ("a.js", "class A {}" + " " * 5_000_000, "shorten"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    fleet: Fleet, tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")

    with pytest.raises(ScriptError, match=complaint) as raised:
        BehaviorScripts(fleet.settings(behavior_scripts=str(tmp_path / name)).browsers)

    assert "\n" not in str(raised.value)


def test_a_missing_file_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="can't be read"):
        BehaviorScripts(fleet.settings(browsertrix_behaviors=str(tmp_path / "none.js")).browsers)


def test_a_flow_is_for_one_address_whatever_its_query(tmp_path: Path) -> None:
    flow = read_flow(tmp_path / "a.json", '{"steps": [{"type": "navigate", "url": "https://a.test/b?c=1#d"}]}')

    assert flow.matches("https://a.test/b?x=2")
    assert not flow.matches("https://a.test/bb")
    assert not flow.matches("http://a.test/b")
