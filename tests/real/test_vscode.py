"""The client for VS Code, against the types of VS Code and of its library."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.real.installed import NODE_PROGRAMS, needs_real
from tests.support.crews import ROOT

pytestmark = needs_real
CLIENT = ROOT / "server" / "lsp" / "vscode"
OPTIONS = "--allowJs --checkJs --strict --noEmit --skipLibCheck --target es2022 --types node,vscode"


def test_it_uses_what_there_is(tmp_path: Path):
    """Every name and every argument; a wrong one would be seen."""
    shutil.copytree(CLIENT, tmp_path, dirs_exist_ok=True)
    (tmp_path / "node_modules").symlink_to(NODE_PROGRAMS.parent)
    assert _checked(tmp_path) == ""
    source = (tmp_path / "extension.js").read_text()
    (tmp_path / "extension.js").write_text(
        source.replace("workspace.isTrusted", "workspace.isSafe")
    )
    assert "isSafe" in _checked(tmp_path)


def test_its_settings_are_those_it_reads():
    """And the library is the version that was checked."""
    package = json.loads((CLIENT / "package.json").read_text())
    source = (CLIENT / "extension.js").read_text()
    for name in package["contributes"]["configuration"]["properties"]:
        assert f'"{name.removeprefix("crewline.")}"' in source
    installed = json.loads((ROOT / "tests" / "real" / "package.json").read_text())["dependencies"]
    library = "vscode-languageclient"
    assert package["dependencies"][library] == f"^{installed[library]}"
    assert package["engines"]["vscode"] == f"^{installed['@types/vscode']}"


def _checked(folder: Path) -> str:
    """What the compiler finds in the client."""
    modules = ["--module", "nodenext", "--moduleResolution", "nodenext"]
    command: list[str | Path] = [NODE_PROGRAMS / "tsc", *OPTIONS.split(), *modules]
    command.append("extension.js")
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
