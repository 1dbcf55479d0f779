"""The fleet starts, supervises, restarts and stops the processes of one home.

`fleet` is the entry point. This folder imports nothing of `admin` but `units`.
"""
