"""People's doors: the one command, and what stands behind it.

What happens on `ghostfleet crawl https://example.org/`, step by step:

1. `cli` finds the command in its table and imports only that (`commands/`); `options` turns flags into settings.
2. `definition` checks what is asked for: seeds, profile, names. `homefolder` proves that the home can be used.
3. `runs` decides whether this is a new run or the rest of one that did not end, and keeps its folder.
4. `fleet` says which children there are: Redis, recording proxies, the indexer with its CDX server, workers.
   `sockets` binds every port first, `supervise` starts the children, keeps them alive and ends them in order;
   `process` is one of them as its parent sees it, `child` is the other side of that. `ghostfleet restart` finds a
   fleet by its `callsign`; `reload` says which settings new processes can have while the rest goes on.
5. `crawl` queues the seeds and sets the workers on; `vigil` looks after it all until the job is over, a limit is
   reached or a signal comes (`interrupts`). `tally` counts crawl.log, `meter` and `progress` show it.
6. `ending` says why it is over; `reports` and `summary` tell what came of it; `replay` shows it again.
"""
