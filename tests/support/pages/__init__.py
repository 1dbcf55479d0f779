"""The site of the pages in `tests/pages`, and the person who visits them."""
