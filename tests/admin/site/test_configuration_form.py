"""admin/web/forms/configuration_form.py: attributes of a configuration are fields, named in the words of curators."""

from __future__ import annotations

import html
import re

import httpx
import pytest
from support.web.site_pages import csrf_of, refused, saved
from support.web.site_server import send_form

from admin.harvests.templates.form_fields import known_fields

DOMAIN = "/domains/example.org"
PAGE = f"{DOMAIN}/configurations/defaultconfig"
API = "/api/v1/domains/example.org/configurations/defaultconfig"
REST = {"name": "defaultconfig", "template": "default", "seed_lists": "defaultseeds", "max_rate": "100"}


@pytest.fixture
def client(curator: httpx.Client) -> httpx.Client:
    assert saved(curator, "/domains", name="http://www.example.org/") == DOMAIN
    return curator


def text_of(page: str) -> str:
    """The text of the attributes that a page carries."""
    found = re.search(r'<textarea[^>]* name="attributes"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def edition_of(page: str) -> str:
    """The edition of the configuration that a page shows."""
    found = re.search(r'name="edition" value="(\d+)"', page)
    assert found is not None
    return found[1]


def fields(page: str, **changed: str) -> dict[str, str]:
    """What a browser sends for the form of the page, with these keys typed; `__` stands for a dot."""
    return {
        **REST,
        "view": "fields",
        "attributes": text_of(page),
        "edition": edition_of(page),
        **{f"key.{key.replace('__', '.')}": value for key, value in changed.items()},
    }


def attributes(client: httpx.Client) -> dict[str, object]:
    return dict(client.get(API).json()["attributes"])


def section_of(page: str, key: str) -> str:
    """The beginning of the section in which the field of the key stands."""
    before = page.partition(f'name="key.{key}"')[0]
    return max(re.findall(r'<fieldset class="section">|<details class="section"(?: open)?>', before)[-1:], default="")


def test_every_key_has_a_field_with_its_name_and_the_rare_ones_are_behind_their_titles(client: httpx.Client) -> None:
    page = client.get(PAGE).text
    for field in known_fields():
        label = f'<label for="key-{field.key.replace(".", "-")}">{html.escape(field.title)} <code>{field.key}</code>'
        assert label in page, field.key
        assert "_" not in field.title
    assert section_of(page, "hops") == '<fieldset class="section">'
    assert section_of(page, "rendered_fraction") == '<details class="section">'
    assert 'placeholder="as in the template: 20"' in page, "the template's value stands in the empty field"


def test_what_is_typed_becomes_an_attribute_and_an_emptied_field_follows_the_template(client: httpx.Client) -> None:
    typed = fields(client.get(PAGE).text, hops="7", limits__pages="3 600", include="/a/\r\n/b/", rendered_fraction="")
    saved(client, PAGE, **typed)
    assert attributes(client) == {"hops": 7, "limits": {"pages": 3600}, "include": ["/a/", "/b/"]}
    page = client.get(PAGE).text
    assert re.search(r'name="key.hops"[^>]*value="7"', page)
    kept = {"hops": "7", "limits__pages": "3600", "include": "/a/\r\n/b/"}
    saved(client, PAGE, **fields(page, **kept))
    assert attributes(client)["hops"] == 7, "a form that nobody touched changes nothing"
    page = client.get(PAGE).text
    saved(client, PAGE, **fields(page, **{**kept, "hops": "none", "limits__pages": "", "browser_cache": "cold"}))
    found = attributes(client)
    assert (found["hops"], found.get("limits", {}), found["browser_cache"]) == (None, {}, "cold")
    page = client.get(PAGE).text
    assert re.search(r'name="key.hops"[^>]*value="none"', page)
    assert section_of(page, "browser_cache") == '<details class="section" open>'


def test_a_wrong_value_is_said_beside_its_field_with_its_name(client: httpx.Client) -> None:
    typed = fields(client.get(PAGE).text, hops="many", browser_profile="a b", scope="host")
    answer = refused(client, PAGE, "Depth: links from a seed: hops = 'many' is no whole number", **typed)
    assert 'id="key-hops-problem"' in answer.text
    assert 'value="many"' in answer.text
    typed = fields(client.get(PAGE).text, hops="3", browser_profile="a b")
    answer = refused(client, PAGE, 'id="key-browser_profile-problem"', **typed)
    assert section_of(answer.text, "browser_profile") == '<details class="section" open>'
    assert re.search(r'name="key.hops"[^>]*value="3"', answer.text), "right values are kept, too"
    assert attributes(client) == {}


def test_the_text_view_stays_available_and_a_switch_keeps_what_was_typed(client: httpx.Client) -> None:
    to_text = send_form(client, PAGE, **fields(client.get(PAGE).text, hops="7"), action="text")
    assert text_of(to_text.text).strip() == "hops: 7"
    assert 'name="key.hops"' not in to_text.text
    text = "hops: 8  # deep\nscope: host\n"
    sent = {**REST, "edition": edition_of(to_text.text), "view": "text", "attributes": text}
    to_fields = send_form(client, PAGE, **sent, action="fields")
    assert re.search(r'name="key.hops"[^>]*value="8"', to_fields.text)
    assert text_of(to_fields.text) == text
    assert attributes(client) == {}, "a switch saves nothing"
    broken = send_form(client, PAGE, **{**sent, "attributes": "hops: ["}, action="fields")
    assert 'id="attributes-problem"' in broken.text
    assert text_of(broken.text).strip() == "hops: ["
    saved(client, PAGE, **sent)
    assert attributes(client) == {"hops": 8, "scope": "host"}


def test_the_form_takes_all_fields_with_many_seed_lists_and_passwords(client: httpx.Client) -> None:
    lists = [f"list-{number:02}" for number in range(30)]
    for name in lists:
        saved(client, f"{DOMAIN}/seed-lists/new", name=name, seeds="http://www.example.org/")
    every = {field.key.replace(".", "__"): "" for field in known_fields()}
    typed = {**fields(client.get(PAGE).text, **every), "csrf_token": csrf_of(client), "seed_lists": lists}
    for path, name in ((PAGE, "defaultconfig"), (f"{DOMAIN}/configurations/new", "more")):
        answer = client.post(path, data={**typed, "name": name})
        assert answer.status_code == 303, (path, answer.text)
        typed.pop("edition", "")
        assert sorted(client.get(f"{API.rpartition('/')[0]}/{name}").json()["seed_lists"]) == lists
