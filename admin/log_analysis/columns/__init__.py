"""A crawl.log becomes typed columns in Parquet files, which queries open.

1. `log_blocks` reads whole lines of a log, plain or gzip; `line_columns` says which columns a line gives.
2. `intake` parses new lines once, into the folder of the analysis; `intake_state` is its memory.
3. `engine` opens DuckDB, which the extra `analysis` installs; `readings` opens the columns for queries.
"""
