"""A person captures by hand in a capture session: in a window of ours, or in the person's own browser.

`sessions` has the use cases that people call. `recording` lets a recording proxy serve the sessions, and is run by the
process `capture` and by the command `record`. `session_log` reads from the proxy's log what was kept and which pages
were opened, so that nothing that is shown as kept can be lost. `proxy_access` has address and credentials of a session.
"""
