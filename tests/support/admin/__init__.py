"""Harvest management for tests: its database, the dispatch as a model, harvesters, and rows."""
