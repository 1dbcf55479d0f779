"""A crawl.log becomes time lines, tables of hosts, indicators and alerts here, whoever wrote the log.

1. `columns` reads the lines of a log once, into files that queries open.
2. `timeline`, `host_table`, `distribution` and `line_search` are the queries; `measures` sums a whole log up.
3. `indicators` compares a log with that of a reference run; `alerts` finds anomalies, by facts of `alert_facts`.
4. `named_logs` finds the logs of a home; `questions` answers, and `operations` is the door for people and programs.
"""
