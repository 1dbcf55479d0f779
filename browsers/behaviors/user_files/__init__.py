"""These modules run users' behaviours: Browsertrix's, classes, recorded flows, and brozzler's.

`scripts` chooses those for a page. Each kind has its host in a module of its own.
"""
