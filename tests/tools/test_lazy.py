"""Packages that import what they offer when it is first used."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["crew", "agents", "tools"])
def test_modules_and_names_are_found_by_themselves(package: str):
    """As if the package had imported them; in a process that has imported nothing else."""
    program = f"""
import pkgutil, {package}
for module in pkgutil.iter_modules({package}.__path__):
    if module.name != "__main__":
        assert getattr({package}, module.name).__name__ == "{package}." + module.name
for name in {package}.__all__:
    getattr({package}, name)
assert not hasattr({package}, "unknown")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
