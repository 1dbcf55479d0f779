"""Operators and programs see and change a job from other processes than the crawl's.

1. `steering` finds a running job, and stores commands to it. `feeding` serves programs that add URLs.
2. `queues` shows and changes the queues of a job, `action_folder` takes files of URLs, and `operator_log` notes both.
3. `log_queries` searches the logs of a job, and `url_history` tells the history of one URL.
4. `rebuild` makes the frontier of a job again.
"""
