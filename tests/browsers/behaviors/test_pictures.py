"""A page has pictures before and after consent, and what the behaviours have opened is closed before the last one."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from support.browsers.visits import Fleet, page
from support.origins.raw_origin import RawOrigin

from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser

PAGE = """<style>body {margin: 0; background: #fff} .over {position: fixed; inset: 0}</style>
<div class=over id=cookies role=dialog style="background: #f00"><p>Cookies</p><button type=button>Accept all</button>
</div><button type=button id=details>Details</button>
<div class="over lightbox" id=box style="background: #00f" hidden></div><script>
document.querySelector('#cookies button').onclick = () => cookies.remove();
details.onclick = () => { box.hidden = false; };
addEventListener('keydown', event => { if (event.key === 'Escape') box.hidden = true; });
</script>"""


def colour(block: bytes) -> tuple[int, ...]:
    """Return the colour in the middle of a picture, each channel as 0 or 1."""
    with Image.open(io.BytesIO(block)) as picture:
        found = picture.convert("RGB").getpixel((picture.width // 2, picture.height // 2))
    assert isinstance(found, tuple)
    return tuple(round(channel / 255) for channel in found)


def test_pictures_show_the_page_before_and_after_consent_and_without_leftovers(
    patient_ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page(PAGE))
    order = fleet.order(origin.url("/"))

    patient_ghost.visit(order)

    kept = fleet.proxy.records(order.collection)
    seen = {
        name: colour(kept.of(f"urn:{name}:{order.url}")[0].block)
        for name in ("view", "viewAfterConsent", "thumbnail", "fullPage", "fullPageFinal")
    }
    red, white = (1, 0, 0), (1, 1, 1)
    assert seen == {
        "view": red,
        "viewAfterConsent": white,
        "thumbnail": white,
        "fullPage": red,
        "fullPageFinal": white,
    }
