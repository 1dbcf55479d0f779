"""The preferences of a Firefox: which they are for a device, and how the file has them."""

from __future__ import annotations

import pytest

from browsers.engines.firefox.preferences import preferences_of, user_js
from browsers.engines.interface import Device


def test_no_traffic_goes_round_the_proxy() -> None:
    found = preferences_of(Device())

    assert (found["network.proxy.type"], found["network.proxy.http_port"], found["network.proxy.ssl_port"]) == (1, 9, 9)
    assert found["network.proxy.allow_hijacking_localhost"] is True
    assert found["network.proxy.failover_direct"] is False
    assert found["network.trr.mode"] == 5


@pytest.mark.parametrize(
    ("device", "name", "value"),
    [
        (Device(dark=True), "layout.css.prefers-color-scheme.content-override", 0),
        (Device(), "layout.css.prefers-color-scheme.content-override", 1),
        (Device(lang="de-AT,de;q=0.9"), "intl.accept_languages", "de-AT, de"),
        (Device(has_touch=True), "dom.w3c_touch_events.enabled", 1),
        (Device(is_mobile=True), "dom.meta-viewport.enabled", True),
    ],
)
def test_a_device_is_in_the_preferences(device: Device, name: str, value: object) -> None:
    assert preferences_of(device)[name] == value


def test_the_file_has_one_line_for_each_preference_and_quotes_texts() -> None:
    assert user_js({"a.b": 'x"y\n', "c": True, "d": 7}) == (
        'user_pref("a.b", "x\\"y\\n");\nuser_pref("c", true);\nuser_pref("d", 7);\n'
    )
