"""Visitors talk to the recording proxy here: to its control port, with its authority, about outcomes."""
