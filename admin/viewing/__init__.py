"""The viewer shows archived pages in any browser without a proxy setting: `server` is the entry point.

It has an origin of its own, where archived scripts run: no cookie and no page of the admin site is there.
ReplayWeb.page plays the pages. This player is a separate work that whoever runs the viewer fetches; it asks
`resource_endpoint` for each archived resource.
"""
