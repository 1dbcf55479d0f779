"""The fault campaign: the proxy at work, something breaks, and what clients were told must still be true.

`campaign` draws rounds from a seed; `playing` is one of them:

1. `disks` gives the home a place: a folder, a disk that can be filled, one that fails, one that can be cut off.
2. `house` starts `ghostfleet proxy` there, with Redis and indexer; `origin` serves what `site` computes.
3. `clients` fetch, and hold what `conversation` says over WebSockets (`talking`, `frames`); their `ledger` notes each
   response whose end they saw.
4. A fault of `kinds` strikes at a moment of the seed's choosing, and is lifted; the fleet goes on, or starts again.
5. `judge` reads what is left (a `case`), with readers of its own (`records`, `traces`, `heard`), and names every one of
   the `promises` that is broken.
6. `report` adds the rounds up.

What is promised of a response: who saw its last byte finds it in a WARC. And of a WebSocket: who saw the origin's close
frame finds the handshake, and concurrent to it all that was said until then, each message once and in order; whatever
befell it otherwise, what is kept is its beginning without a gap.
"""
