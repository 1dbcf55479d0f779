"""The CDX server answers queries on the capture index over HTTP, with the parameters of pywb.

`server` is the entry point. It may import `captures`.
"""
