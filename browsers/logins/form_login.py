"""A form login enters user and password in a page as a person does, in one step or in two.

The result is the state of the window: its cookies, and the local storage of the sites of its frames.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from browsers.engines.interface import BrowserWindow, EngineError, Frame, NavigationFailed
from browsers.logins.browser_profile import BrowserProfile, LoginCheck

_LOAD_SECONDS: Final = 45.0
_SETTLE_SECONDS: Final = 1.0
_SETTLE_MOST: Final = 15.0
_STEP_SECONDS: Final = 10.0
_ROUNDS: Final = 3
"""A login asks for the user and the password on one page or on two; a third page may ask to continue."""
_UNAUTHORIZED: Final = 401
_MAX_FRAMES: Final = 20
_MAX_ITEMS: Final = 1000

_FOCUS_SCRIPT: Final = """
kind => {
  const isShown = field => {
    const box = field.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && !field.disabled && !field.readOnly;
  };
  const fields = [...document.querySelectorAll('input')].slice(0, 1000).filter(isShown);
  const password = fields.find(field => field.type === 'password');
  const texts = fields.filter(field => ['text', 'email', 'tel', ''].includes(field.getAttribute('type') || ''));
  const named = texts.filter(field => /user|mail|login|name|account|kennung/i.test(
    [field.name, field.id, field.autocomplete, field.placeholder].join(' ')));
  const before = password && texts.filter(
    field => field.compareDocumentPosition(password) & Node.DOCUMENT_POSITION_FOLLOWING).pop();
  const field = kind === 'password' ? password : before || named[0];
  if (!field) return false;
  field.focus();
  field.select();
  return true;
}
"""
_SUBMIT_SCRIPT: Final = """
() => {
  const field = document.activeElement;
  if (!field || field.localName !== 'input' || !field.value) return false;
  const form = field.form;
  const isShown = element => { const box = element.getBoundingClientRect(); return box.width > 1 && box.height > 1; };
  const label = /log ?in|sign ?in|continue|next|weiter|anmelden|einloggen|connexion|suivant|siguiente|entrar|accedi/i;
  const other = /google|apple|facebook|microsoft|github|sso|passkey|forgot|register|sign ?up/i;
  const selector = 'button, input[type=submit], input[type=button], [role=button]';
  const text = each => each.value || each.textContent || each.getAttribute('aria-label') || '';
  const button = [...(form || document).querySelectorAll(selector)].slice(0, 1000)
    .find(each => isShown(each) && label.test(text(each)) && !other.test(text(each)));
  if (button) button.click();
  else if (form) form.requestSubmit();
  return Boolean(button || form);
}
"""
_STORAGE_SCRIPT: Final = """
most => {
  try { return [location.origin, Object.entries(localStorage).slice(0, most)]; } catch { return null; }
}
"""
_CHECK_SCRIPT: Final = """
([selector, text]) => {
  if (selector && !document.querySelector(selector)) return false;
  return !text || (document.body ? document.body.innerText : '').includes(text);
}
"""


class LoginFailed(Exception):
    """The login did not succeed. The message says at which step, and shows no secret."""


class LoginNotTried(LoginFailed):
    """The page of the login can't be used now, so that the site got no password."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials are a user and a password. Their text form does not show the password."""

    user: str
    password: str = field(repr=False)


async def log_in(window: BrowserWindow, url: str, credentials: Credentials, check: LoginCheck) -> None:
    """Log in at the URL. Raises LoginFailed."""
    await open_page(window, url)
    has_typed = False
    for _ in range(_ROUNDS):
        await window.traffic.settled(_SETTLE_SECONDS, _SETTLE_MOST)
        user_frame = await _enter(window, "user", credentials.user)
        password_frame = await _enter(window, "password", credentials.password)
        frame = password_frame or user_frame
        if frame is None:
            break
        has_typed = has_typed or password_frame is not None
        await _submit(window, frame)
        if password_frame is not None:
            break
    if not has_typed:
        raise LoginNotTried(f"{url} shows no field for a password")
    await check_login(window, check)


async def open_page(window: BrowserWindow, url: str) -> None:
    """Open the page of a login and wait for it. Raises LoginFailed."""
    try:
        async with asyncio.timeout(_LOAD_SECONDS):
            await window.navigate(url)
            await window.loaded()
    except NavigationFailed as error:
        raise LoginNotTried(f"{url} can't be opened: {error.reason}") from error
    except (TimeoutError, EngineError) as error:
        raise LoginNotTried(f"{url} did not load") from error
    if window.traffic.main is not None and not window.traffic.main.is_sites:
        raise LoginNotTried(f"{url} can't be opened: the proxy got no response")
    if window.traffic.main is not None and window.traffic.main.status == _UNAUTHORIZED:
        raise LoginFailed(f"{url} does not take the user and the password")


async def check_login(window: BrowserWindow, check: LoginCheck) -> None:
    """Wait until the page has settled. Raises LoginFailed when the page does not show the login."""
    await window.traffic.settled(_SETTLE_SECONDS, _SETTLE_MOST, from_now=True)
    if not await is_logged_in(window, check):
        raise LoginFailed("the page after the login does not show what the check looks for")


async def is_logged_in(window: BrowserWindow, check: LoginCheck) -> bool:
    """Return whether the page shows the login. Without a check, a page without a field for a password does.

    A page whose scripts do not answer counts as logged in, since nothing is known of it.
    """
    try:
        async with asyncio.timeout(_STEP_SECONDS):
            if check.selector or check.text:
                return bool(await window.main_frame.evaluate(_CHECK_SCRIPT, [check.selector, check.text]))
            return not await window.main_frame.evaluate(_FOCUS_SCRIPT, "password")
    except (TimeoutError, EngineError):
        return True


async def state_of(window: BrowserWindow, profile: BrowserProfile) -> BrowserProfile:
    """Return the profile with the cookies and the local storage of the window. Raises EngineError."""
    storage: dict[str, tuple[tuple[str, str], ...]] = {}
    for frame in window.frames[:_MAX_FRAMES]:
        storage |= await _storage_of(frame)
    return replace(profile, cookies=tuple(await window.cookies()), storage=storage)


async def _enter(window: BrowserWindow, kind: str, text: str) -> Frame | None:
    """Enter the text in the first frame that has such a field, and return the frame."""
    for frame in window.frames[:_MAX_FRAMES]:
        try:
            async with asyncio.timeout(_STEP_SECONDS):
                if await frame.evaluate(_FOCUS_SCRIPT, kind):
                    await window.insert_text(text)
                    return frame
        except (TimeoutError, EngineError):
            continue  # the frame went away
    return None


async def _submit(window: BrowserWindow, frame: Frame) -> None:
    """Send the form by Enter. When the page does nothing then, press the form's button, or send it without one."""
    requests = window.traffic.requests
    await window.press("Enter")
    await window.traffic.settled(_SETTLE_SECONDS, _SETTLE_MOST, from_now=True)
    if window.traffic.requests != requests:
        return
    try:
        async with asyncio.timeout(_STEP_SECONDS):
            await frame.evaluate(_SUBMIT_SCRIPT)
    except (TimeoutError, EngineError):
        return  # the page was left after all
    await window.traffic.settled(_SETTLE_SECONDS, _SETTLE_MOST, from_now=True)


async def _storage_of(frame: Frame) -> Mapping[str, tuple[tuple[str, str], ...]]:
    try:
        async with asyncio.timeout(_STEP_SECONDS):
            found: Any = await frame.evaluate(_STORAGE_SCRIPT, _MAX_ITEMS)
    except (TimeoutError, EngineError):
        return {}
    if not isinstance(found, list) or not str(found[0]).startswith("http"):
        return {}
    return {str(found[0]): tuple((str(name), str(value)) for name, value in found[1])}
