"""Secrets of forms and headers stay out of WARC files: their names are found, and their values are blackened.

`redaction` is the entry point; `typed_secrets` looks for the values in responses. The package imports no other module
of `sessions`.
"""
