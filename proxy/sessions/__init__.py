"""Sessions and their rules say who sends a request, what it may ask for, and which limits apply.

`gate` is the entry point. It may import `origins`, `recording` and `protocol`.
"""
