"""A job runs here, from its definition to its reports.

1. `definition` checks seeds and profile; `runs` keeps the folder and the state of each run.
2. `crawling` starts the fleet, watches the job and ends it; its module `crawl` is the entry point.
3. `control` lets operators and programs see and change the job from other processes.
4. `results` decides the final states (`states`), writes the reports, and publishes the summary.
5. `progress` counts what crawl.log and the frontier tell, and shows the job while it runs.
"""
