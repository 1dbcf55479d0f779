"""admin/web/pages/templates: the editor by fields and by text, uploads, versions side by side, copies and restores."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import httpx
import pytest
from support.web.site_server import RunningSite, send_form

from admin.harvests.templates.form_fields import fields_of, known_fields, shown_value
from admin.models.people_tables import Role
from admin.web.forms.template_sections import SECTIONS

EDIT = "/templates/default/edit"


def text_of(client: httpx.Client, name: str = "default", number: int = 1) -> str:
    return client.get(f"/templates/{name}/download/{number}").text


def typed_fields(text: str, **changed: str) -> dict[str, str]:
    """What a browser sends of the form by fields: each line end is CR LF."""
    values = {f"key.{each.key}": shown_value(each) for each in fields_of(text)}
    values |= {f"key.{key.replace('__', '.')}": value for key, value in changed.items()}
    return {name: value.replace("\n", "\r\n") for name, value in values.items()}


def shown_text(page: str) -> str:
    """The document that a page carries."""
    found = re.search(r'<textarea[^>]* name="text"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def upload(client: httpx.Client, path: str, file_name: str, data: bytes, **values: str) -> httpx.Response:
    token = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
    assert token is not None
    sent = {"csrf_token": token[1], "action": "save", "view": "text", "text": "", "comments": "", **values}
    return client.post(path, data=sent, files={"file": (file_name, data)})


def test_every_key_of_a_profile_has_one_field_with_its_description_and_default(curator: httpx.Client) -> None:
    assert sorted(key for section in SECTIONS for key in section.keys) == sorted(each.key for each in known_fields())
    page = curator.get(EDIT).text
    for field in known_fields():
        assert f'name="key.{field.key}"' in page
        assert html.escape(field.description, quote=False) in html.unescape(page).replace("&amp;", "&")
    assert '<option value="obey">' in page
    assert "seconds" in page


def test_a_value_changed_in_the_form_changes_its_line_alone_and_makes_a_version(curator: httpx.Client) -> None:
    before = text_of(curator)
    changed = typed_fields(before, hops="7", limits__pages="3_600", exclude="/(calendar|kalender)/\n[?&]x=")
    saved = send_form(
        curator, EDIT, view="fields", text=before, action="save", comments="seven", edition="1", **changed
    )
    assert saved.status_code == 303, saved.text
    after = text_of(curator, number=2)
    gone = [line for line in before.splitlines() if line not in after.splitlines()]
    come = [line for line in after.splitlines() if line not in before.splitlines()]
    assert "hops: 7" in come
    assert "  pages: 3600" in come
    assert "hops: 20" in gone
    assert [line for line in gone if line.lstrip().startswith("#")] == []
    assert len(come) == 4
    unchanged = send_form(curator, EDIT, view="fields", text=after, edition="2", **typed_fields(after))
    assert unchanged.status_code == 303
    assert curator.get("/templates/default/download/3").status_code == 404


def test_the_switch_carries_unsaved_changes_over_in_both_directions(curator: httpx.Client) -> None:
    before = text_of(curator)
    to_text = send_form(
        curator, EDIT, view="fields", text=before, action="text", comments="mine", **typed_fields(before, hops="9")
    )
    assert to_text.status_code == 200
    carried = shown_text(to_text.text)
    assert carried == before.replace("hops: 20", "hops: 9")
    assert 'value="mine"' in to_text.text
    edited = carried.replace("hops: 9", "hops: 11  # eleven")
    to_fields = send_form(curator, EDIT, view="text", text=edited, action="fields")
    assert re.search(r'name="key.hops"[^>]*value="11"', to_fields.text)
    assert shown_text(to_fields.text) == edited
    assert curator.get("/templates/default/download/2").status_code == 404, "a switch saves nothing"


def test_fields_say_what_is_wrong_beside_them_and_keep_what_was_typed(curator: httpx.Client) -> None:
    before = text_of(curator)
    wrong = typed_fields(before, hops="many", rendered_fraction="2", headers="no colon", max_url_length="20")
    for action in ("save", "text", "verify"):
        answer = send_form(curator, EDIT, view="fields", text=before, action=action, edition="1", **wrong)
        assert answer.status_code == 422
        for key, words in (("hops", "no whole number"), ("rendered_fraction", "too large"), ("headers", "no name and")):
            assert re.search(rf'id="key-{key}-problem" class="problem">[^<]*{words}', answer.text), (action, key)
        assert 'value="many"' in answer.text
        assert re.search(r'name="key.max_url_length"[^>]*value="20"', answer.text), "right values are kept, too"
        assert re.search(
            r'name="key.hops" aria-describedby="key-hops-problem key-hops-help" aria-invalid="true"', answer.text
        )


def test_a_pattern_that_is_wrong_is_named_beside_its_list(curator: httpx.Client) -> None:
    before = text_of(curator)
    answer = send_form(
        curator, EDIT, view="fields", text=before, edition="1", **typed_fields(before, exclude="good\n(a+)+$\n[")
    )
    assert answer.status_code == 422
    assert 'id="key-exclude-problem"' in answer.text
    assert "(a+)+$" in shown_text(answer.text), "the document has what was typed"


def test_a_key_can_be_taken_out_of_the_text(curator: httpx.Client) -> None:
    before = text_of(curator)
    values = {**typed_fields(before), "unset.max_links": "on"}
    answer = send_form(curator, EDIT, view="fields", text=before, action="text", **values)
    assert "max_links" not in shown_text(answer.text)
    refused = send_form(curator, EDIT, view="fields", text=before, edition="1", **{**values, "unset.visitor": "on"})
    assert refused.status_code == 422
    assert re.search(r'id="key-visitor-problem"[^<]*the key visitor is absent', refused.text)


def test_text_that_is_no_yaml_stays_text_with_problems_at_their_lines(curator: httpx.Client) -> None:
    broken = "hops: 1\nlimits: [\nscope: host\n"
    for action in ("fields", "verify", "save"):
        answer = send_form(curator, EDIT, view="text", text=broken, action=action, edition="1")
        assert answer.status_code == 422, action
        assert shown_text(answer.text) == broken
        assert 'name="view" value="text"' in answer.text
        assert re.search(r'data-line="\d+">Line \d+</a>', answer.text)
        marks = json.loads(html.unescape(re.search(r'data-problems="([^"]*)"', answer.text)[1]))  # type: ignore[index]
        assert marks[0]["line"] in (2, 3, 4)


def test_all_required_keys_that_are_absent_are_named_and_nothing_is_stored(curator: httpx.Client) -> None:
    answer = send_form(curator, "/templates/new", name="empty", text="scope: host\n", view="text", action="save")
    assert answer.status_code == 422
    required = [each.key for each in known_fields() if each.required]
    assert [key for key in required if f"the key {key} is absent" not in answer.text] == []
    assert curator.get("/templates/empty").status_code == 404


def test_a_right_text_is_verified_without_being_saved(curator: httpx.Client) -> None:
    answer = send_form(curator, EDIT, view="text", text=text_of(curator) + "# new\n", action="verify")
    assert "Nothing is wrong with the profile." in answer.text
    assert curator.get("/templates/default/download/2").status_code == 404


def values_of(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in fields_of(text):
        group, dot, name = field.key.partition(".")
        target = values.setdefault(group, {}) if dot else values
        target[name if dot else field.key] = field.value
    return values


def test_files_of_yaml_toml_and_json_make_templates(curator: httpx.Client) -> None:
    text = text_of(curator)
    values = values_of(text)
    windows = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    assert upload(curator, "/templates/new", "a.yaml", windows, name="yaml").status_code == 303
    assert curator.get("/templates/yaml/download/1").content == windows, "a YAML file is kept to the byte"
    assert upload(curator, "/templates/new", "A.JSON", json.dumps(values).encode(), name="json").status_code == 303
    assert values_of(text_of(curator, "json")) == values
    answer = upload(curator, "/templates/new", "a.toml", b'visitor = "plain"\n[limits]\npages = 4\n', name="toml")
    assert answer.status_code == 422, "TOML has no null, so that a file of TOML can't have all required keys"
    assert "visitor: plain\nlimits:\n  pages: 4\n" in shown_text(answer.text)


@pytest.mark.timeout(120)
def test_hostile_uploads_get_one_clear_answer_and_store_nothing(curator: httpx.Client) -> None:
    bomb = b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    keys = "".join(f"key{number}: 1\n" for number in range(5_001)).encode()
    for name, data, words in (
        ("a.yaml", bomb, "anchor"),
        ("a.yaml", keys, "5,000 keys"),
        ("a.yaml", b"hops: 1\nhops: 2\n", "hops"),
        ("a.yaml", b"#" * 10_000_000, "more than 1,000,000 bytes"),
        ("a.yaml", b"\xff\xfeh\x00", "UTF-16"),
        ("a.yaml", b"hops: 1\n\x00", "character"),
        ("a.yaml", b"<!doctype html><html><body>no list</body></html>", ""),
        ("a.yaml", b"a: " + b"[" * 5_000, ""),
        ("a.json", b'{"a": 1, "a": 2}', "given twice"),
        ("a.json", b"[" * 500_000, "nested too deeply"),
        ("a.json", b"[1, 2]", "no table"),
        ("a.toml", b"a = 2026-11-23\n", "can&#39;t have"),
        ("a.toml", b"a = 1\nb =\n", "Line 2"),
        ("a.exe", b"MZ", "none of .yaml"),
    ):
        answer = upload(curator, "/templates/new", name, data, name="hostile")
        assert answer.status_code == 422, (name, data[:40])
        assert "Nothing was saved." in answer.text
        assert words in answer.text, (words, data[:40])
    assert curator.get("/templates/hostile").status_code == 404
    twice = send_form(
        curator, "/templates/new", name="x", view="text", action="save", text="hops: 1\nscope: host\nhops: 2\n"
    )
    assert 'data-line="3"' in twice.text


def test_five_thousand_unknown_keys_are_answered_with_a_bounded_page(curator: httpx.Client) -> None:
    text = "".join(f"key{number}: 1\n" for number in range(5_000))
    answer = send_form(curator, "/templates/new", name="x", view="text", text=text, action="fields")
    assert answer.status_code == 422
    assert answer.text.count("unknown key") <= 100
    assert len(answer.content) < 500_000


def test_versions_are_compared_side_by_side_restored_and_copied(curator: httpx.Client) -> None:
    first = text_of(curator)
    second = first.replace("hops: 20", "hops: 3").replace("include: []", "include: []\n# one more")
    assert send_form(curator, EDIT, view="text", text=second, edition="1").status_code == 303
    compared = curator.get("/templates/default/compare?old=1").text
    assert re.search(r'class="changed"><td>changed</td>.*hops: 20.*hops: 3', compared)
    assert re.search(r'class="added"><td>added</td>.*# one more', compared)
    assert "equal lines" in compared
    assert re.search(r"<code>hops</code></th><td[^>]*><code>20</code>", compared)
    restored = send_form(curator, "/templates/default/rename", "/templates/default/restore/1", edition="2")
    assert restored.status_code == 303
    assert text_of(curator, number=3) == first
    assert "restored from version 1" in curator.get("/templates/default").text
    late = send_form(curator, "/templates/default/rename", "/templates/default/restore/2", edition="1")
    assert late.status_code == 409
    copied = send_form(curator, "/templates/default/copy?version=2", name="second", comments="")
    assert copied.headers["Location"] == "/templates/second"
    assert text_of(curator, "second") == second
    across = curator.get("/templates/default/compare?old=1&other=second&new=1").text
    assert "second/1" in across
    download = curator.get("/templates/second/download/1")
    assert "second-1.yaml" in download.headers["Content-Disposition"]


def test_a_template_that_is_used_is_not_deleted_and_its_page_names_who_uses_it(curator: httpx.Client) -> None:
    assert send_form(curator, "/templates/default/copy", name="used").status_code == 303
    assert send_form(curator, "/domains", name="example.org").status_code == 303
    assert "example.org" in curator.get("/templates/default").text
    assert "example.org" in curator.get("/templates/default/users").text
    refused = send_form(curator, "/templates/default/rename", "/templates/default/delete")
    assert refused.status_code == 409
    assert "No configuration uses this template." in curator.get("/templates/used").text
    assert send_form(curator, "/templates/used/rename", "/templates/used/delete").status_code == 303


def test_two_people_who_edit_a_template_see_both_texts(curator: httpx.Client) -> None:
    before = text_of(curator)
    theirs, mine = before.replace("hops: 20", "hops: 4"), before.replace("scope: domain", "scope: host")
    assert send_form(curator, EDIT, view="text", text=theirs, edition="1").status_code == 303
    conflict = send_form(curator, EDIT, view="text", text=mine, edition="1")
    assert conflict.status_code == 422
    assert "Somebody else has changed this meanwhile." in conflict.text
    assert re.search(r'class="changed">.*hops: 4.*hops: 20', conflict.text)
    assert shown_text(conflict.text) == mine
    assert 'name="edition" value="2"' in conflict.text
    assert send_form(curator, EDIT, view="text", text=mine, edition="2").status_code == 303
    assert text_of(curator, number=3) == mine


def test_an_edition_of_five_thousand_digits_is_no_number(curator: httpx.Client) -> None:
    text = text_of(curator).replace("hops: 20", "hops: 4")
    assert send_form(curator, EDIT, view="text", text=text, edition="9" * 5_000).status_code == 303


def test_a_rename_conflict_shows_what_is_kept_and_what_was_typed(curator: httpx.Client) -> None:
    send_form(curator, "/templates/default/copy", name="news")
    page = "/templates/news/rename"
    assert send_form(curator, page, name="news", comments="theirs", edition="1").status_code == 303
    late = send_form(curator, page, name="news", comments="mine", edition="1")
    assert late.status_code == 422
    assert re.search(r"Comments</th><td[^>]*><pre>theirs</pre></td><td[^>]*><pre>mine</pre></td>", late.text)
    assert (
        send_form(curator, page, name="new name", comments="mine", edition="2").headers["Location"]
        == "/templates/new%20name"
    )


def test_a_reader_sees_templates_and_can_not_edit_them(stocked_site: RunningSite) -> None:
    with stocked_site.client(Role.READER) as reader:
        assert reader.get("/templates/default/compare?old=1").status_code == 200
        assert reader.get(EDIT).status_code == 403
        assert reader.get("/templates/default/copy").status_code == 403
        assert "Restore" not in reader.get("/templates/default").text


def test_the_scope_of_a_template_is_explained_by_its_page(curator: httpx.Client) -> None:
    assert "/templates/default/scope" in curator.get("/templates/default").text
    assert 'name="urls"' in curator.get("/templates/default/scope").text
    asked = {"urls": "http://example.org/a\r\nhttp://example.net/<b>", "seeds": "http://example.org/"}
    page = curator.get("/templates/default/scope", params=asked)
    assert page.status_code == 200
    text = html.unescape(page.text)
    assert "host org,example)" in text or "domain org,example" in text
    assert "http://example.net/%3Cb%3E" in text
    assert "<b>" not in page.text
    wrong = curator.get("/templates/default/scope", params={**asked, "hops": "LZ"})
    assert wrong.status_code == 422
    assert "is no hop path" in html.unescape(wrong.text)
    assert curator.get("/templates/none/scope").status_code == 404
