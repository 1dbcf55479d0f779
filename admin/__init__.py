"""People's doors: the one command, and what stands behind it.

What happens on `ghostfleet crawl https://example.org/`, step by step:

1. `cli` finds the command in its table and imports only that (`commands/`); `options` turns flags into settings.
2. `jobs` decides whether this is a new run or the rest of an unfinished one, and keeps the job's folder.
3. `sockets` binds every listening port in the parent, so that "port taken" is known before anything starts.
4. `supervise` starts the children and keeps them alive; `child` is the other side, in each of them.
5. `fleet` says which children there are: Redis, recording proxies, the indexer with its CDX server, workers.
6. `crawl` runs the job to its end: completion, a limit, or Ctrl-C; `progress` shows it, `tally` counts it.
7. `reports` and `summary` tell what came of it; `replay` shows it again.
"""
