"""This package holds the domains of the installation and everything that belongs to a domain.

`operations` lists what people and programs can do. `names` turns what people type into the name of a registered
domain, and the job generator and the statistics ask it for the domain of a host. `uploads` adds domains and seeds from
long lists, each part in a transaction of its own. `aliases` says which aliases are in force; `crawler_traps`,
`extended_fields` and `passwords` hand the job generator what a job keeps. The package may import `frontier`, `archive`
and `admin.models`.
"""
