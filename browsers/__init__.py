"""Things that visit pages, always through the proxy. One visit's path:

1. `worker` claims a URL from the frontier (`heartbeat` keeps the lease alive) and asks `rules` what the host's
   robots.txt says.
2. `choice` says which visitor takes it: `plain` (no JavaScript) or `chromium` (a ghost).
3. `proxyclient` opens or reuses a session, so that the proxy knows whose traffic it is.
4. Plain: `plain` streams the answer, `decoding` unpacks it within bounds, `links` finds what it points to (`found`
   gathers from `html`, `css`, `sitemaps` and `headers`). The proxy keeps the bytes meanwhile.
5. Ghost: `chromium` borrows a fresh context of a running `browser` (`executable`, `flags` and `trust` say how it was
   started), `page` loads, settles, scrolls (`behaviors`) and settles again while `traffic` counts requests,
   `render` takes pictures, text and links; `pageinfo` makes records of them, which the session keeps.
6. The session's end waits until every capture is durable. Only then is there a `visit.Visit`: `outcome` and
   `verdict` tell the site's failures from ours.
7. `worker` hands the links to the frontier and finishes the URL with the visit's code, or gives it back.
"""
