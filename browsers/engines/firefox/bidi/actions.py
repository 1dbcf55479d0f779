"""Mouse and keys become actions of WebDriver here (W3C, WebDriver, section Actions). Pure."""

from __future__ import annotations

from typing import Any, Final

from browsers.engines.interface import Point

_NAMED: Final = {
    "Backspace": "\ue003",
    "Tab": "\ue004",
    "Enter": "\ue006",
    "Escape": "\ue00c",
    "PageUp": "\ue00e",
    "PageDown": "\ue00f",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Delete": "\ue017",
}
"""Characters of WebDriver's table of normalised keys."""
_LONGEST_CHARACTER: Final = 1


def key_of(key: str) -> str:
    """Return WebDriver's character of a key. Raises ValueError for an unknown name."""
    if len(key) == _LONGEST_CHARACTER:
        return key
    if key not in _NAMED:
        raise ValueError(f"{key!r} is no key; use a character or one of {', '.join(_NAMED)}")
    return _NAMED[key]


def keys(values: str) -> list[dict[str, Any]]:
    """Return the actions that press and release these keys, one after the other."""
    actions = [{"type": kind, "value": value} for value in values for kind in ("keyDown", "keyUp")]
    return [{"type": "key", "id": "keyboard", "actions": actions}]


def mouse(to: Point, *, clicks: bool) -> list[dict[str, Any]]:
    """Return the actions that move the mouse, and click there."""
    actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(to.x), "y": round(to.y)}]
    if clicks:
        actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
    return [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]
