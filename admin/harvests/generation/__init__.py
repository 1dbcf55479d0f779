"""This package makes jobs of a harvest: which configurations, in which order, in which job, and why.

1. `expectations` says how many objects a configuration probably has; `splitting` says whether it fits into a job.
   Both are pure.
2. `ready` finds the harvests that are due. `candidates` reads their configurations as a stream in sorted order.
3. `jobs` fills jobs from the stream. `run` writes the jobs of one run so that they appear together.
4. `preview` and `explanation` tell people what would be generated, and why a domain is in its job.

It may import `admin.harvests.domains`, `schedules` and `templates`, and `admin.models`.
"""
