"""Visitors visit pages, always through the proxy.

1. `worker` claims a URL from the frontier; `heartbeat` renews the lease.
2. `robots_rules` asks what the host's robots.txt says.
3. `visitor_choice` chooses the visitor: `plain` (no JavaScript) or `browser` (a ghost).
4. `proxying` opens a session of the proxy, so that the proxy knows the owner of the traffic.
5. The visitor fetches the page, and `links` finds the URLs to which it points.
6. A ghost loads the page, scrolls, takes pictures and text, and hands in its records.
7. The end of the session waits until every capture is durable. The result is a `visit.Visit`.
8. `worker` hands the links to the frontier and finishes the URL, or gives it back.
"""
