"""This package makes a command of each operation: the same use cases as the site and the REST API.

`groups` is the entry point. It may import the operations of `harvests`, `people` and `notifications`; importing
`groups` itself imports none of them, so that a command starts fast.
"""
