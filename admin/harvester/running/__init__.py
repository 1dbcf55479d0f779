"""A harvester uses these modules while the crawl of a job runs."""
