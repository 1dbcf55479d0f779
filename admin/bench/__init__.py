"""Measuring the product beside its peers, on this machine, in one run.

`cli` is the door; `rounds` runs one bench from start to end. A round of the proxy bench goes:

1. `origin` serves the files of `corpus` from a process of its own.
2. A peer (`peers`) is started with an empty folder, and warmed.
3. `load` asks for every file once, from a process of its own, and writes down what was acknowledged.
4. `process` reads what the peer spent; the peer is stopped in order.
5. `checking` looks in the WARC files for everything that was acknowledged.
6. `report` puts the peers side by side.

`faults` is another bench: what holds when things break.
"""
