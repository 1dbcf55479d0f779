"""This package holds harvest definitions: what is harvested, when, and up to which limits.

`operations` lists what people and programs can do. `definition` makes, changes, shows and deletes a definition,
`states` activates it or asks for a run, `chosen` and `event_seeds` say which configurations a selective harvest has,
`listing` lists definitions and their runs. The package may import `admin.harvests.generation`, `admin.harvests.domains`
and `admin.models`.
"""
