"""Visits without a browser: one request, its redirects, and robots.txt."""
