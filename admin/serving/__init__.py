"""Web applications are served here within bounds of connections, bodies and threads, the same for each of them.

`web_server` serves an ASGI application, `connections` bounds the clients that send nothing or little, `request_bodies`
receives bodies before a thread is taken, and `wsgi_threads` runs WSGI applications in threads.
"""
