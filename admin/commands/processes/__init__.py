"""The commands here run processes that stay: proxies, workers, sites."""
