"""This package serves the admin site: pages made on the server, which work without JavaScript where a form is enough.

`application` is the entry point; `pages/` has one module for each part of the site, `templates/` the HTML, `static/`
styles, scripts and vendored libraries. It may import the use cases and everything below them; it never imports `api`.
"""
