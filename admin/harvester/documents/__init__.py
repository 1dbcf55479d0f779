"""This package writes down what a job did: in its metadata file, and in files beside it."""
