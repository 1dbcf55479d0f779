"""The fault campaign: the proxy at work, something breaks, and what clients were told must still be true.

`campaign` draws rounds from a seed; `playing` is one of them:

1. `disks` gives the home a place: a folder, a disk that can be filled, one that fails, one that can be cut off.
2. `house` starts `ghostfleet proxy` there, with Redis and indexer; `origin` serves what `site` computes.
3. `clients` fetch, and note each response whose end they saw.
4. A fault of `kinds` strikes at a moment of the seed's choosing, and is lifted; the fleet goes on, or starts again.
5. `judge` reads what is left, with readers of its own (`records`, `traces`), and names every promise that is broken.
6. `report` adds the rounds up.
"""
