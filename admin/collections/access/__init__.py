"""The use cases of this package show and change the access rules of a collection for people and programs.

1. `rule_file` reads and changes the file with the rules, with a lock and an edition.
2. `data` has the models; `rules` has the use cases; `operations` lists them for the API.

`archive.access_rules` says what a rule means, and replay, the viewer and the CDX server keep to the file.
"""
