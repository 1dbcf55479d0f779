"""Long work on collections that people order in the admin site: packages to download, and imports of uploaded files.

1. `task_folder` keeps each task as a folder of the home, with its order, its progress and its result.
2. `work` is the process that carries one task out; `worker` is the thread of the site that runs such processes.
3. `data` has the models; `tasks` has the use cases; `operations` lists them for the API.
"""
