"""This script draws docs/explanation/architecture.svg from the Mermaid diagram of the page beside it.

`.venv/bin/python docs/diagram.py` needs npm, which fetches Mermaid (MIT), and Chromium. The drawing holds the SHA-256
of its source, and a test compares that with the page.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from browsers.engines.chromium.executable import find_chromium

PAGE: Final = Path(__file__).resolve().parent / "explanation" / "architecture.md"
TARGET: Final = PAGE.with_suffix(".svg")
MERMAID: Final = "mermaid@11.17.2"


def source() -> str:
    """Return the text of the page's Mermaid diagram."""
    found = re.search(r"```mermaid\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found, f"{PAGE} has no Mermaid diagram"
    return found[1]


def mark(text: str) -> str:
    """Return the comment by which a drawing names its source."""
    return f"<!-- source sha256:{hashlib.sha256(text.encode()).hexdigest()} -->"


def draw(text: str, library: str) -> str:
    """Return the SVG of a Mermaid diagram. `library` is the JavaScript text of Mermaid."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        try:
            page = browser.new_page()
            page.set_content("<!doctype html><body></body>")
            page.add_script_tag(content=library)
            drawing = page.evaluate(
                """async text => {
                    mermaid.initialize({startOnLoad: false, securityLevel: "strict", htmlLabels: false,
                                        flowchart: {htmlLabels: false}});
                    return (await mermaid.render("architecture", text)).svg;
                }""",
                text,
            )
        finally:
            browser.close()
    assert isinstance(drawing, str)
    return drawing


def fetched_library() -> str:
    """Return Mermaid's script from the npm registry."""
    with tempfile.TemporaryDirectory() as folder:
        name = subprocess.run(
            ["npm", "pack", MERMAID, "--silent"], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.split()[-1]
        with tarfile.open(Path(folder) / name) as package:
            script = package.extractfile("package/dist/mermaid.min.js")
            assert script is not None
            return script.read().decode()


if __name__ == "__main__":
    text = source()
    drawing = draw(text, fetched_library())
    TARGET.write_text(f"{mark(text)}\n{drawing}\n", "utf-8")
    print(f"{TARGET}: {len(drawing)} characters", file=sys.stderr)
