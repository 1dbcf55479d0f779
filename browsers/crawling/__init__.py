"""The worker of a crawl: it claims URLs from the frontier, chooses a visitor for each, and reports the outcome."""
