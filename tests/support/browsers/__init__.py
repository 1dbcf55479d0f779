"""Ghosts, engines, workers and viewers for tests."""
