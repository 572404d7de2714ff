"""What stands before the packages of ours is refused, and none of it runs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import BIN, clean_environment


@pytest.mark.parametrize("package", ["crew", "agents", "tools", "server"])
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py"])
def test_a_package_that_hides_one_of_ours(tmp_path: Path, package: str, form: str):
    """Such as a crew's own tools.py, on PYTHONPATH."""
    path = tmp_path / form.format(package)
    path.parent.mkdir(exist_ok=True)
    path.write_text("from pathlib import Path\nPath(__file__ + '.ran').touch()\n")
    ended = subprocess.run(
        [BIN / "crew", "--version"],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=str(tmp_path)),
        timeout=60,
    )
    assert ended.returncode == 1
    assert f"another package hides one of ours: {package} ({path})" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not Path(f"{path}.ran").exists()


def test_yaml_beside_the_packages_harms_nothing(tmp_path: Path):
    """A folder without Python in it hides nothing."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "a.yaml").write_text("id: a\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [BIN / "crew", "--version"],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=path),
        cwd=tmp_path,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
