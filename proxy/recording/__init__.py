"""The writer thread turns whole exchanges into durable records, in batches.

`recorder` is the entry point. It may import `protocol` only.
"""
