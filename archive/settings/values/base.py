"""Every section of the settings is built from these parts."""

from __future__ import annotations

import ipaddress
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict


class Section(BaseModel):
    """A section is a group of settings. It is frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def _listed(value: object) -> object:
    """Return the parts of a text with commas, as the environment and flags give a list; anything else as it is."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _checked_networks(networks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the networks themselves. Raises ValueError for the first text that is not a network."""
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise ValueError(f"{error}; write a network as 10.20.0.0/16, or one address as 10.20.0.11") from None
    return networks


_Item = TypeVar("_Item")
Listed = Annotated[tuple[_Item, ...], BeforeValidator(_listed)]
"""Items that a text may give with commas between them."""
Networks = Annotated[Listed[str], AfterValidator(_checked_networks)]
"""IP networks and addresses."""
