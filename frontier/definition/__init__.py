"""This package has the definition of a crawl: seeds, profile and limits, and which URLs are in its scope."""
