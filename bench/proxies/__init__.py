"""Recording proxies are measured with the load of `bench.traffic`.

`rounds` measures the peers by turns, and `report` prints a table of them. `hostile` and `hostile_neighbours` measure
the harm of hostile sites. `soak` looks for leaks.
"""
