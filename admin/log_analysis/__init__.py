"""A crawl.log becomes time lines, tables of hosts, indicators and alerts here, whoever wrote the log.

1. `log_blocks` reads whole lines of a log, plain or gzip; `line_columns` says which columns a line gives.
2. `intake` parses new lines once, into Parquet files in the folder of the analysis; `intake_state` is its memory.
3. `engine` opens DuckDB, which the extra `analysis` installs; `readings` opens the columns for queries.
4. `timeline`, `host_table`, `distribution` and `line_search` are the queries; `measures` sums a whole log up.
5. `indicators` compares a log with that of a reference run; `alerts` finds anomalies, by facts of `alert_facts`.
6. `named_logs` finds the logs of a home; `operations` is the door for people and programs.
"""
