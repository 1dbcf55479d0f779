"""The load of the proxies: files of known content are served, requested, and looked for in the archive.

`origin` serves the files of `corpus` from a process of its own. `load` requests every file once and notes the
acknowledged responses; `wire` is its side of a connection. `warc_check` looks in the WARC files for each of them.
"""
