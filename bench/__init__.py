"""Each bench measures Ghostfleet and other proxies on this machine.

1. `cli` has one command for each bench; `rounds` runs the bench of proxies.
2. `origin` serves the files of `corpus` from a process of its own.
3. `peers` starts a proxy with an empty folder. `load` requests every file once and notes the acknowledged responses.
4. `process` reads the CPU and memory of the peer. `warc_check` looks in the WARC files for each acknowledged response.
5. `report` prints a table of the peers.

`faults` breaks the system while the proxy works. `hostile` and `hostile_neighbours` measure the harm of hostile sites.
`soak` looks for leaks.
"""
