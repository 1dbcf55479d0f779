"""Captures enter and leave a collection here, as files that other programs read.

1. `importing` adds WARC files of other programs.
2. `selection` finds captures by date, job or URL.
3. `exporting` writes chosen records to a folder.
4. `packaging` writes a WACZ package; `page_search` finds the pages that its lists name.
"""
