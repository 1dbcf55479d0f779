"""The links of a document: HTML, CSS, headers, sitemaps and feeds. Pure.

`documents` is the entry point. It imports `browsers.visit` only.
"""
