"""This package has the daily work of curators.

| folder | content |
|---|---|
| `descriptions` | Dublin Core, tags, states, embargoes and exclusions of collections and captures |
| `permissions` | permissions and licences of sites, and letters to their owners |
| `tray` | the in-tray of each person |
| `bulk` | changes of many domains at once, with a preview |
| `planning` | the load to come, and reports of the past |

`operations` lists everything that people and programs reach. The package may import `admin.harvests`, `admin.people`,
`admin.notifications`, `admin.collections` and what is below.
"""
