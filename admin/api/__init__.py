"""This package serves the REST API under /api/v1: each operation of the use cases is one route.

`blueprint` is the entry point, `openapi` describes the routes. It may import `models`, `people` and the operations of
`harvests`; it never imports `web`.
"""
