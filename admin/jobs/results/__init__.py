"""A job that ends has final states, reports and a summary.

1. `ending` decides the final states of the job, its hosts and its seeds. `good_answers` has the rule for a site.
2. `reports` and `summary` print the states and the counts. `seed_ends` keeps the states of many seeds.
3. `end_hooks` publish the summary.
"""
