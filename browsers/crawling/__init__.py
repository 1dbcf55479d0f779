"""The worker of a crawl claims URLs from the frontier, chooses a visitor for each, and reports the outcome."""
