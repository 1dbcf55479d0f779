"""The parts of a harvest are measured.

`harvests` generates jobs, `frontier` and `revisits` decide which URL is next, `crawl` and `ghosts` visit pages without
and with a browser, and `qa` judges the captures. `crawl_site` is a site for crawls.
"""
