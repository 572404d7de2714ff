"""Settings of Sphinx; the pages of reference/generated are written from the code first."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generate import write_reference  # noqa: E402 # it lies beside this file

project = "crewline"
version = release = version_of("crewline")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# what is copied must be what was written: two hyphens stay two
smartquotes = False
html_theme = "furo"
html_title = "crewline"
autodoc_member_order = "bysource"
autodoc_typehints = "description"


def setup(app: Any) -> None:
    """Write the pages that are made from the code before Sphinx reads any."""
    app.connect("builder-inited", lambda _: write_reference(HERE / "reference" / "generated"))
