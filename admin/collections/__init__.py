"""Collections are listed, shown, deleted, renamed, imported and exported here.

1. `names` checks and completes names on the command line.
2. `facts` counts what the home, the index and the storage have of each collection. `writers` finds the processes that
   write to it, and `usage` what else may.
3. `delete` and `rename` change all data of a collection, in steps that can be interrupted and repeated. `marks` are
   the files and names that show such a change until it is complete.
4. `transfer` adds WARC files of other programs, writes chosen records to a folder, and makes WACZ packages.
5. `stores` opens the index and Redis together.
6. `browsing` shows collections to people and programs, on the site and by the API.
"""
