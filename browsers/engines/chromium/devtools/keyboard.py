"""Keys have names in the UI Events standard, and numbers in Chromium's input events. Pure."""

from __future__ import annotations

from typing import Any, Final

_NAMED: Final = {
    "Backspace": 8,
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "PageUp": 33,
    "PageDown": 34,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Delete": 46,
}
_TEXTS: Final = {"Enter": "\r"}
_LONGEST_CHARACTER: Final = 1


def key_events(key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of `Input.dispatchKeyEvent` for pressing and for releasing a key.

    Raises ValueError for an unknown name.
    """
    if len(key) == _LONGEST_CHARACTER:
        code = "Space" if key == " " else f"Key{key.upper()}" if key.isascii() and key.isalpha() else ""
        common = {"key": key, "code": code, "windowsVirtualKeyCode": ord(key.upper()) if key.isascii() else 0}
        text = key
    elif key in _NAMED:
        common = {"key": key, "code": key, "windowsVirtualKeyCode": _NAMED[key]}
        text = _TEXTS.get(key, "")
    else:
        raise ValueError(f"{key!r} is no key; use a character or one of {', '.join(_NAMED)}")
    down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
    return common | down, common | {"type": "keyUp"}
