"""A job runs here, from its definition to its reports.

1. `definition` checks seeds and profile; `runs` keeps the folder and the state of each run.
2. `crawl` is the entry point: it starts the fleet, watches the job (`watch`, `interrupts`, `disk_watch`) and ends it.
3. `tally` counts the lines of crawl.log, `meter` and `progress` show the job while it runs.
4. `ending` decides the final states (`states`), `reports` and `summary` print them, `end_hooks` publish the summary.
5. `steering` finds a running job and controls it from another process.
"""
