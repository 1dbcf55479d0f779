"""This package brings jobs to harvesters and takes their results.

`queue` submits and hands out jobs, `reports` takes progress and ends, `steering` has what operators do, `job_status`
the transitions. It may import `models` and what is below.
"""
