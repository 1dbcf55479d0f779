"""This package holds the use cases of harvest management: domains, templates, schedules, harvests and their jobs.

Web pages, API, commands and scheduler call these functions. It may import `people`, `notifications`, `models` and what
is below them; Flask and click stay out.
"""
