"""Behaviours do on a page what a person would do, so that the page fetches what it shows to people.

`general_pass` runs the behaviours in order. The scripts of `scripts/` run in the page.
"""
