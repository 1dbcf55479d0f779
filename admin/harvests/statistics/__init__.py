"""This package has statistics over many jobs: what a domain gave over time, and what stands on the overview.

The package may import `admin.harvests.dispatch`, `admin.harvests.domains` and what is below.
"""
