"""This package is the scheduler: it looks each minute for harvests that are ready, and has their jobs made.

`assembly` is the entry point: it adds dispatch and notifications to `scheduler`. `lease` sees to it that one scheduler
works at a time. `log_watch` searches the logs of running jobs for anomalies. The scheduler needs no web site and no
harvester. It may import `admin.harvests`, `admin.notifications`, `admin.log_analysis` and `admin.models`.
"""
