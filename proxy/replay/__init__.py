"""Answers from the archive: replay mode, patch mode and conditional requests.

`replayer` is the entry point. It may import `fetch` and the packages below that.
"""
