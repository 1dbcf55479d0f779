"""Owners of sites are asked for permission here, and their answers and licences are kept."""
