"""The check page tells a person whether the browser records, into which collection, and what is wrong if it does not.

Only a proxy of ours answers `CHECK_HOST`: no name below `.invalid` exists (RFC 6761). So a browser that shows the page
uses the proxy. The page asks for a picture by https. When the picture is missing, the browser does not trust our CA.
"""

from __future__ import annotations

from html import escape
from typing import Final

CHECK_HOST: Final = "recording.ghostfleet.invalid"
_STYLE: Final = (
    "body{font:18px/1.5 sans-serif;max-width:42em;margin:3em auto;padding:0 1em;color:#222}"
    "h1{font-size:1.4em}.good{color:#075e2c}.bad{color:#8a1515}object{display:block}"
)
_TRUSTED: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="28"><text x="0" y="20" font-family="sans-serif" '
    b'font-size="18" fill="#075e2c">https works: this browser trusts the certificate.</text></svg>'
)
_SECURITY: Final = (
    b"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; object-src https:; frame-src https:\r\n"
)
CA_TYPE: Final = "application/x-x509-ca-cert"


def check_answer(path: str, collection: str, mode: str, ca_pem: bytes) -> tuple[str, bytes, bytes]:
    """Return the media type, further header lines, and the body of the answer to a path of the check host.

    `/ca.pem` is the certificate of our CA, `/trusted.svg` the picture that shows trust. All else is the page.
    """
    name = path.partition("?")[0]
    if name == "/ca.pem":
        return CA_TYPE, b"", ca_pem
    if name == "/trusted.svg":
        return "image/svg+xml", _SECURITY, _TRUSTED
    return "text/html; charset=utf-8", _SECURITY, _page(collection, mode).encode()


def _page(collection: str, mode: str) -> str:
    if mode in ("record", "patch"):
        first = f'<h1 class="good">You are recording into {escape(collection)}</h1>'
        first += "<p>What this browser fetches is kept in the collection.</p>"
    elif mode == "live":
        first = f'<h1 class="bad">The recording into {escape(collection)} is paused</h1>'
        first += "<p>What this browser fetches is not kept. Resume the session on its page, or by the command.</p>"
    else:
        first = f'<h1 class="bad">This proxy replays {escape(collection)}</h1><p>Nothing is recorded.</p>'
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Ghostfleet: {escape(collection)}</title>'
        f"<style>{_STYLE}</style>{first}"
        f'<object data="https://{CHECK_HOST}/trusted.svg" type="image/svg+xml" aria-label="Check of https">'
        '<p class="bad"><b>https does not work yet:</b> this browser does not trust the certificate. '
        f'<a href="http://{CHECK_HOST}/ca.pem">Download the certificate</a>, let the browser trust it for web sites, '
        "start the browser again, and open this page again.</p></object></html>"
    )
