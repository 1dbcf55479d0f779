"""Long work that people order in the admin site: packages to download, imports of uploaded files, and work on queues.

1. `task_folder` keeps each task as a folder of the home, with its order, its progress and its result.
2. `work` is the process that carries one task out, with `queue_work` for the queues of crawls; `worker` is the thread
   of the site that runs such processes.
3. `tasks` and `queue_orders` have the use cases with their models; `operations` lists them for the API.
"""
