"""The checks read a home after its faults and compare it with what the clients saw."""
