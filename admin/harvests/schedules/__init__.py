"""This package keeps schedules, and computes the dates at which selective harvests run.

`dates` is pure: a rule, an anchor and a moment give the next date. `operations` lists what people and programs can do,
`stock.install_stock` fills a fresh database. It may import `models` and `harvests.input_checks`.
"""
