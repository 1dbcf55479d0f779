"""Things that visit pages, always through the proxy. One visit's path:

1. `worker` claims a URL from the frontier and learns whether its host's robots.txt must be read first (`rules`).
2. `choice` says which visitor takes it: `plain` (no JavaScript) or `chromium` (a ghost).
3. `proxyclient` opens or reuses a session, so that the proxy knows whose traffic it is.
4. Plain: `plain` streams the answer, `decoding` unpacks it within bounds, `links` finds what it points to
   (`html`, `css`, `sitemaps` and the headers). The proxy keeps the bytes meanwhile.
5. Ghost: `chromium` lends a fresh context of a running browser (`flags`, `executable`, `trust` say how it was
   started), `page` loads, settles, scrolls (`behaviors`) and settles again while `traffic` counts requests,
   `render` takes pictures, text and the final DOM, and `pageinfo` sums up; they become records by the session.
6. The session's end waits until every capture is durable. Only then is there a `visit.Visit`.
7. `worker` hands the links to the frontier and finishes the URL with the visit's code, or gives it back.
"""
