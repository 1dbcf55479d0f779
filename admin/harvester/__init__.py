"""A harvester runs the jobs of one channel on this machine, one after another.

`harvester` is the process, `control_loop` watches over a crawl, which is a process of its own (`crawl_process`,
`job_process`), and `finishing` does what follows a crawl: statistics, metadata file, upload, report. `job_folder` keeps
each step, so that a harvester that was killed goes on where it was. `domain_tally` and `outcome` are pure.

It may import `admin.harvests.dispatch`, `admin.jobs`, `admin.fleet` and what is below.
"""
