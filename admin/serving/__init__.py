"""The web servers of an installation bound connections, bodies and threads here, the same for every application.

`web_server` serves an ASGI application, `connections` bounds the clients that send nothing or little, `request_bodies`
receives bodies before a thread is taken, and `wsgi_threads` runs WSGI applications in threads.
"""
