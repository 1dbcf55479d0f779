"""Commands that run processes which stay: proxies, workers, sites."""
