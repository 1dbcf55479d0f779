"""The links of pages: the memory of known ones, and the accounts of rejected ones."""
