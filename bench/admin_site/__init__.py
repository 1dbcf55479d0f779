"""The admin site is measured as people use it.

`pages` requests each kind of page (`page_requests`) on filled databases (`filled_database`, `private_postgres`).
`screen` steers a browser on the server.
"""
