"""Web servers of the installation: connections, bodies and threads are bounded here, the same for every application.

`web_server` serves an ASGI application, `connections` bounds the clients that send nothing or little, `request_bodies`
receives bodies before a thread is taken, and `wsgi_threads` runs WSGI applications in threads.
"""
