"""This package turns the texts of forms into what use cases take, and back.

Entry points: `form.Form`, and a module for each of the larger forms.
"""
