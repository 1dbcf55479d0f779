"""The calendar shows the load to come, and reports sum up what was harvested."""
