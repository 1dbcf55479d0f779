"""Records, and replays, every exchange that passes.

The path of one exchange through this room:

1. `serve` puts a process together from its `parts`; `doors` has its ports. `connection` takes a client in and drives
   mitmproxy's layers; `addons` says which.
2. `relay` finds the borders of requests; `desk` sees where each goes; `gate` says whose it is and whether it may.
   `policy` says how it is to be treated, from what its client and its session wish (`wishes`, `rules`, `buckets`,
   `redaction`); `admission` asks the fleet's counters when there are limits, `pacing` waits for the turn at
   a host that wants pauses.
3. `fetch` gets the `order` from the origin: `approach` finds the way there, over a `line` of `upstream`, to an address
   that `addresses` allows; `outgoing` passes the request's body on; `progress` knows how long all that may take.
   `stalls` sees to it that no client holds up lines which others wait for.
4. `incoming` reads the response (`http1` knows how; TLS comes through the `inbox`), `spool` keeps and hashes its bytes,
   `delivery` relays them.
5. `recorder` hands whole exchanges to its thread; `keep` asks dedup, writes, syncs and announces them in batches.
   `onecore` has that thread and the event loop's share a core.
6. `transcript` says what is to be kept, `ending` hands it on; only when it is kept, `delivery` lets the last bytes go.

Behind a 101 `switched` passes bytes both ways; `socketlog` writes down what is said over WebSockets (`frames` reads
it), `socketrecords` has it kept. `slices` sends a part of what is kept whole.
In replay, `replayer` and `memento` stand where `fetch` does, and no connection to an origin is opened;
`patch` tries them first and `fetch` after a miss. Where it is wanted, `conditional` looks into the archive first
(`history`) and asks the origin whether it has anything newer; a 304 is shown to the client as `unchanged` says.
Clients may speak HTTP/2: `h2clients` stands where `relay` does, with `h2streams`. Origins may: `h2origins` gives each
exchange a stream that looks like a connection of its own (`h2lines`), what comes on it is put into HTTP/1.1 by
`h2answers`, and `streampool` hands them out. `h2wire` has the frames of both.
Users' addons (`extend`, `extensions`) are asked by `desk` and told by `recorder`. A session's mitmproxy `scripts` stand
between the client and `fetch`: `scripted` runs them, `flowsides` says what they made in HTTP/1.1 again.
When a process is replaced, `succession` takes sockets and sessions over from the `predecessor` and gives them to the
`successor` (`handover` is the way they go). `vouched` tells commands from what a page's script made up.
`control` is the port where sessions are made; `meta` is what the proxy says of itself.
"""
