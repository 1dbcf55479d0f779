"""The use cases of this package show collections to people and programs. They only read.

1. `index` opens the capture index, and says what is missing when there is none or when it is behind.
2. `listing` shows the collections and one collection; `files` shows WARC files; `jobs` shows who wrote to it.
3. `search` finds captures, `calendar` counts the captures of a URL, and `capture` shows one capture with its record.
4. `pictures` turns archived pictures into ones that are safe to show; `replay` says how to open a capture.
5. `operations` lists them for the API.
"""
