"""Each bench measures Ghostfleet and other programs on this machine.

1. `cli` has one command for each bench. `process` reads the CPU and memory of processes.
2. `proxies` measures recording proxies beside each other, under long load, and beside hostile sites.
3. `crawls` measures what a harvest consists of: generated jobs, the frontier, visits and QA.
4. `admin_site` measures the pages of the admin site.
5. `traffic` requests files of a known content, and looks in the archive for each acknowledged response.
6. `peers` starts the other programs, each with an empty folder.

`faults` breaks the system while the proxy works.
"""
