"""Operators see the queues of a job and change them: each URL with its state, deletion, export and import.

`entry` is one URL with all of its state. `desk` reads entries from Redis as streams, and changes the queues.
`url_search` finds URLs by regular expressions. `lines` has the form of an entry in a file of JSON lines.
"""
