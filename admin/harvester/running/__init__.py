"""What a harvester does while the crawl of a job runs."""
