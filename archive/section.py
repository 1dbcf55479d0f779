"""What every section of the settings is made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A group of settings: frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
