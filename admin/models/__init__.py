"""This package holds the admin's database: its tables, its transactions, and the migrations that make them.

`database` is the entry point; `transaction` is what use cases work with. It may import `archive` and `admin.units`.
"""
