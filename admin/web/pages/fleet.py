"""These pages show the parts of a `ghostfleet up`, harvesters and channels."""

from __future__ import annotations

from typing import Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.fleet.installation_file import read_installation
from admin.harvests.dispatch import channels, harvesters
from admin.harvests.dispatch.channels import ChannelInput
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, reading, saving, site

BLUEPRINT: Final = Blueprint("fleet", __name__, url_prefix="/fleet")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show parts, harvesters and channels."""
    return _page(_empty())


@BLUEPRINT.post("/channels", endpoint="create_channel")
@needs(Right.ADMINISTER)
def create_channel() -> Response:
    """Make a channel."""
    form = Form({"name": "", "comments": ""}, switches=("takes_snapshots", "is_default"))

    made = form.run(saving(channels.create_channel), ChannelInput)
    return _page(form, 422) if made is None else done(f"Channel {made.name} was made.", "fleet.index")


@BLUEPRINT.post("/channels/<name>/delete", endpoint="delete_channel")
@needs(Right.ADMINISTER)
def delete_channel(name: str) -> Response:
    """Delete a channel that nothing uses."""
    carry_out(channels.delete_channel, name)
    return done(f"Channel {name} was deleted.", "fleet.index")


@BLUEPRINT.post("/harvesters/<path:name>/forget", endpoint="forget")
@needs(Right.ADMINISTER)
def forget(name: str) -> Response:
    """Remove a harvester that will not come back."""
    carry_out(harvesters.forget_harvester, name)
    return done(f"Harvester {name} was removed.", "fleet.index")


def _empty() -> Form:
    return Form({"name": "", "comments": "", "takes_snapshots": False, "is_default": False})


def _page(form: Form, status: int = 200) -> Response:
    with reading() as opened:
        found, listed = harvesters.list_harvesters(opened), channels.list_channels(opened)
    settings = site().settings
    values = {"running": read_installation(settings.home), "collection": settings.proxy.collection}
    return page("fleet/index.html", status, harvesters=found, channels=listed, form=form, **values)
