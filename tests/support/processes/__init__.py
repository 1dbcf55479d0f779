"""Processes of the program, the machine's needs, and waiting for conditions."""
