"""admin/web/static/editor.js: a person edits a template in Chromium, by keyboard, with and without scripts."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect
from support.web.axe_pages import serious

EDIT = "/templates/default/edit"

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
type OpenContext = Callable[[str, bool], BrowserContext]


def focused(tab: Page) -> str:
    """What has the focus: its id, name or class."""
    return str(tab.evaluate("(({ id, name, className }) => id || name || className)(document.activeElement)"))


def editor_text(tab: Page) -> str:
    return str(
        tab.evaluate("CodeMirror.EditorView.findFromDOM(document.querySelector('.cm-editor')).state.doc.toString()")
    )


def test_the_editor_marks_problems_at_their_lines_and_the_switch_keeps_what_was_typed(
    open_context: OpenContext, curator: httpx.Client
) -> None:
    tab = open_context("light", True).new_page()
    refused: list[str] = []
    tab.on("console", lambda message: refused.append(message.text))
    tab.on("pageerror", lambda error: refused.append(str(error)))
    tab.goto(f"{EDIT}?view=text")
    content = tab.locator(".cm-content")
    expect(content).to_have_attribute("aria-labelledby", "text-label")
    expect(tab.locator("textarea#text")).to_be_hidden()
    colours = tab.locator(".cm-line span").evaluate_all("spans => spans.map(span => getComputedStyle(span).color)")
    assert len(set(colours)) >= 3, "keys, texts and comments have colours of their own"

    content.click()
    tab.keyboard.press("Control+Home")
    tab.keyboard.type("hopps: 3")
    tab.keyboard.press("Enter")
    mark = tab.locator(".cm-lint-marker-error")
    expect(mark).to_have_count(1)
    expect(tab.locator("#text-state")).to_contain_text("Line 1: unknown key hopps")
    expect(content).to_have_attribute("aria-invalid", "true")
    tab.get_by_role("button", name="Fields").click()
    expect(tab.locator(".message.wrong li")).to_contain_text("unknown key hopps")
    tab.fill("[name='key.hops']", "8")
    tab.get_by_role("button", name="Text", exact=True).click()
    expect(tab.locator(".cm-lint-marker-error")).to_have_count(1)
    assert editor_text(tab).startswith("hopps: 3\n")
    assert "\nhops: 8\n" in editor_text(tab)
    tab.locator("a[data-line]").first.click()
    assert "cm-content" in focused(tab)
    tab.keyboard.press("Control+Home")
    tab.keyboard.press("Shift+ArrowDown")
    tab.keyboard.press("Delete")
    expect(tab.locator("#text-state")).to_have_text("Nothing is wrong with the profile.")
    expect(tab.locator(".cm-lint-marker-error")).to_have_count(0)
    tab.get_by_role("button", name="Save").last.click()
    expect(tab.locator(".message.done")).to_contain_text("Version 2 was made.")
    before, after = (curator.get(f"/templates/default/download/{number}").text for number in (1, 2))
    assert after == before.replace("hops: 20", "hops: 8")
    assert [text for text in refused if "status of 422" not in text] == []


def test_the_keyboard_leaves_the_editor(open_context: OpenContext) -> None:
    tab = open_context("light", True).new_page()
    tab.goto(f"{EDIT}?view=text")
    expect(tab.locator("[data-with-script]")).to_be_visible()
    tab.locator(".cm-content").focus()
    before = editor_text(tab)
    tab.keyboard.press("Tab")
    assert "cm-content" in focused(tab)
    assert editor_text(tab) == f"  {before}"
    tab.keyboard.press("Escape")
    tab.keyboard.press("Tab")
    assert "cm-content" not in focused(tab)
    assert editor_text(tab) == f"  {before}"


def test_without_scripts_the_text_area_and_the_switch_work(open_context: OpenContext, curator: httpx.Client) -> None:
    tab = open_context("light", False).new_page()
    tab.goto(EDIT)
    tab.fill("[name='key.hops']", "5")
    tab.get_by_role("button", name="Text", exact=True).click()
    area = tab.locator("textarea#text")
    expect(area).to_be_visible()
    text = area.input_value()
    assert "\nhops: 5\n" in text
    area.fill(text.replace("scope: domain", "scope: host"))
    tab.get_by_role("button", name="Save").last.click()
    expect(tab.locator(".message.done")).to_contain_text("Version 2 was made.")
    before, after = (curator.get(f"/templates/default/download/{number}").text for number in (1, 2))
    assert after == before.replace("hops: 20", "hops: 5").replace("scope: domain", "scope: host")
    delete = tab.locator("details.confirm button")
    expect(delete).to_be_hidden()
    tab.locator("details.confirm summary").click()
    expect(delete).to_be_visible()


def test_axe_finds_nothing_serious_in_both_editors(open_context: OpenContext) -> None:
    tab = open_context("light", True).new_page()
    found = []
    for path in (EDIT, "/templates/default/versions/1"):
        tab.goto(path)
        found += serious(tab, path)
    tab.goto(f"{EDIT}?view=text")
    tab.locator(".cm-content").click()
    tab.keyboard.press("Control+Home")
    tab.keyboard.type("limits: 3")
    expect(tab.locator(".cm-lint-marker-error").first).to_be_visible()
    found += serious(tab, "with problems")
    tab.get_by_role("button", name="Verify").click()
    expect(tab.locator("#text-problem")).to_be_visible()
    found += serious(tab, "verified")
    tab.goto("/templates/default/compare?old=1&other=chromium&new=1")
    found += serious(tab, "compared")
    assert "\n".join(found) == ""
