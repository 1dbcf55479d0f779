"""This package keeps templates: crawl profiles in YAML under a name, of which each change makes a new version.

`operations` lists what people and programs can do. `profile_values.profile_of` makes a job's profile of a template.
`verification` finds what is wrong with a text, `form_fields` shows its values as fields and changes them in the text.
`stock.install_stock` fills a fresh database. It may import `frontier`, `models` and `harvests.input_checks`.
"""
