"""This module makes `urlfrontier_pb2.py` and its types from `urlfrontier.proto`, by grpcio-tools of the group `check`.

Run `.venv/bin/python -m admin.url_frontier.make_messages` after a change of the proto file. The lowest grpcio-tools
that pyproject.toml allows should make them, because protobuf refuses messages that a later generator made.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
PROTO: Final = "urlfrontier.proto"


def make(target: Path) -> None:
    """Write the Python module of the messages and its types into a folder. Raises RuntimeError."""
    from grpc_tools import protoc

    arguments = ["protoc", f"-I{FOLDER}", f"--python_out={target}", f"--pyi_out={target}", PROTO]
    if protoc.main(arguments) != 0:
        raise RuntimeError(f"protoc can't read {FOLDER / PROTO}; its lines above say why")


if __name__ == "__main__":
    make(FOLDER)
    sys.stdout.write(f"{FOLDER / 'urlfrontier_pb2.py'} is written\n")
