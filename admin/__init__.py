"""The admin is the command `ghostfleet` and the use cases behind it.

1. `cli` finds a command in its table and imports only that one (`commands`).
2. `options` turns flags into settings.
3. `jobs` runs one job from its definition to its reports, and steers running jobs.
4. `fleet` starts, supervises and stops the processes of a home.
5. `collections` lists, deletes, renames, imports and exports collections.
6. `replay` opens a window on a collection; `deduplicator` reads settings of Heritrix.

`commands` and later web pages call the use cases, which know neither.
"""
