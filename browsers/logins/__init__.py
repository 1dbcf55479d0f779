"""Logins are made once, stored encrypted, and used by the visits of jobs."""
