"""Check what a person's page sends, and turn it into commands of the DevTools protocol. Pure.

Nothing that a page of the site sends is passed on unchecked: numbers are bounded, texts are cut, and unknown kinds are
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MOUSE: Final = {"down": "mousePressed", "up": "mouseReleased", "move": "mouseMoved", "wheel": "mouseWheel"}
_TOUCH: Final = {"down": "touchStart", "up": "touchEnd", "move": "touchMove"}
_BUTTONS: Final = ("left", "middle", "right", "back", "forward")
_ALT, _CTRL, _META, _SHIFT = 1, 2, 4, 8
_MOST_PIXELS: Final = 10_000
_MOST_TEXT: Final = 1_000_000
_LONGEST_KEY: Final = 40
_EDITING: Final = frozenset("acvxyz")
"""Keys of shortcuts that macOS has with the Command key, and our browser with Control."""


def number(value: object, least: float, most: float) -> float:
    """Return the value between its bounds; the least one for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return least
    return float(min(max(value, least), most))


def text(value: object, longest: int = _MOST_TEXT) -> str:
    """Return the text, cut to its longest form; empty for what is no text."""
    return value[:longest] if isinstance(value, str) else ""


def mouse_event(sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the parameters of Input.dispatchMouseEvent; None for an unknown kind."""
    kind = MOUSE.get(text(sent.get("kind"), 10))
    if kind is None:
        return None
    button = int(number(sent.get("button"), -1, 4))
    event: dict[str, Any] = {
        "type": kind,
        "x": number(sent.get("x"), 0, _MOST_PIXELS),
        "y": number(sent.get("y"), 0, _MOST_PIXELS),
        "modifiers": _modifiers(sent),
        "buttons": int(number(sent.get("buttons"), 0, 31)),
        "button": _BUTTONS[button] if button >= 0 and kind != "mouseWheel" else "none",
        "clickCount": int(number(sent.get("clicks"), 0, 3)) if kind in ("mousePressed", "mouseReleased") else 0,
    }
    if kind == "mouseWheel":
        event["deltaX"] = number(sent.get("dx"), -_MOST_PIXELS, _MOST_PIXELS)
        event["deltaY"] = number(sent.get("dy"), -_MOST_PIXELS, _MOST_PIXELS)
    return event


def touch_event(sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the parameters of Input.dispatchTouchEvent for one finger; None for an unknown kind."""
    kind = _TOUCH.get(text(sent.get("kind"), 10))
    if kind is None:
        return None
    point = {"x": number(sent.get("x"), 0, _MOST_PIXELS), "y": number(sent.get("y"), 0, _MOST_PIXELS)}
    return {"type": kind, "touchPoints": [] if kind == "touchEnd" else [point], "modifiers": _modifiers(sent)}


def key_event(sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the parameters of Input.dispatchKeyEvent; None for an event that has no key.

    The person's browser knows the layout of the keyboard. So a printable key is told by its character, whatever key of
    a US keyboard is at its place, and the character is typed unless a modifier makes a command of the key.
    """
    key, code = text(sent.get("key"), _LONGEST_KEY), text(sent.get("code"), _LONGEST_KEY)
    if not key or key in ("Dead", "Process", "Unidentified"):
        return None
    is_down = sent.get("kind") != "up"
    modifiers = _modifiers(sent)
    is_printable = len(key) == 1 or (len(key) == 2 and not key.isascii())
    if sent.get("altgr") is True and is_printable:
        modifiers &= ~(_ALT | _CTRL)  # AltGr has chosen the character, and is no modifier of it
    if modifiers & _META and key.lower() in _EDITING:
        modifiers = modifiers & ~_META | _CTRL
    typed = key if is_printable and not modifiers & (_CTRL | _META | _ALT) else ""
    if key == "Enter":
        typed = "\r"
    event: dict[str, Any] = {
        "type": ("keyDown" if typed else "rawKeyDown") if is_down else "keyUp",
        "key": key,
        "code": code,
        "modifiers": modifiers,
        "windowsVirtualKeyCode": int(number(sent.get("vk"), 0, 255)),
        "location": int(number(sent.get("location"), 0, 3)) if number(sent.get("location"), 0, 3) < 3 else 0,
        "isKeypad": sent.get("location") == 3,
        "autoRepeat": sent.get("repeat") is True,
    }
    if typed and is_down:
        event |= {"text": typed, "unmodifiedText": typed}
    if is_down and modifiers & _CTRL and key.lower() == "a":
        event["commands"] = ["selectAll"]
    return event


def is_copy(event: Mapping[str, Any]) -> bool:
    """Return whether the key event copies or cuts the selection."""
    return event["type"] != "keyUp" and bool(event["modifiers"] & _CTRL) and event["key"].lower() in ("c", "x")


def composition(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of Input.imeSetComposition; offsets count UTF-16 units."""
    shown = text(sent.get("text"), 10_000)
    end = len(shown.encode("utf-16-le")) // 2
    return {"text": shown, "selectionStart": end, "selectionEnd": end}


def viewport(sent: Mapping[str, Any]) -> tuple[int, int, float]:
    """Return width, height and zoom that the person's page asks for, within bounds."""
    zoom = number(sent.get("zoom"), 0.25, 4)
    width, height = (int(number(sent.get(name), 200, 2560)) for name in ("width", "height"))
    return width, height, zoom


def address(typed: object) -> str | None:
    """Return the URL to open for what a person typed into the address bar; None for what is no web address."""
    found = text(typed, 65_536).strip()
    if not found or any(char.isspace() for char in found):
        return None
    if "://" not in found:
        found = f"http://{found}"
    return found if found.startswith(("http://", "https://")) else None


def _modifiers(sent: Mapping[str, Any]) -> int:
    pairs = (("alt", _ALT), ("ctrl", _CTRL), ("meta", _META), ("shift", _SHIFT))
    return sum(mask for name, mask in pairs if sent.get(name) is True)
