"""A browser on this machine that a person steers from afar: its picture goes out, and mouse and keyboard come in.

`browser` runs the browser of one person, `messages` checks what the person's page sends, and `page_scripts` has the
scripts that look at a page. `framing` is the form of the messages between processes.
"""
