"""What is installed with us: locked, under licences that allow it, and served with few rights."""

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text()
LICENCES = (ROOT / "docs" / "project" / "licences.md").read_text()
EXTRAS = ("", *(metadata.metadata("crewline").get_all("Provides-Extra") or ()))
# that a program under the MIT licence may be installed with
ALLOWED = (
    "MIT",
    "BSD",
    "Apache",
    "PSF",
    "Python Software Foundation",
    "ISC",
    "MPL",
    "LGPL",
    "0BSD",
)


def installed() -> dict[str, str]:
    """All that the package and its extras need here, with their licences."""
    found: dict[str, str] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [("crewline", EXTRAS)]
    seen = set(waiting)
    while waiting:
        package, extras = waiting.pop()
        for text in metadata.requires(package) or ():
            wanted = Requirement(text)
            marker = wanted.marker
            if marker is not None and not any(marker.evaluate({"extra": one}) for one in extras):
                continue
            name = wanted.name.lower().replace("_", "-")
            try:
                found[name] = licence(metadata.metadata(name))
            except metadata.PackageNotFoundError:
                # of an extra that is not installed here
                continue
            further = (name, ("", *sorted(wanted.extras)))
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return found


def licence(known: metadata.PackageMetadata) -> str:
    classified = [
        value.rpartition(" :: ")[2]
        for value in known.get_all("Classifier") or ()
        if value.startswith("License :: ") and value != "License :: OSI Approved"
    ]
    told = known.json
    given = str(
        told.get("license_expression") or "".join(classified[:1]) or told.get("license") or ""
    )
    return " ".join(given.split())[:60]


def test_every_package_is_locked():
    """With hashes."""
    names = re.findall(r"^([a-z0-9._-]+)==", LOCK, re.MULTILINE)
    assert set(installed()) <= {name.replace("_", "-").replace(".", "-") for name in names}
    for block in re.split(r"^(?=[a-z])", LOCK, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]


def test_licences():
    """Each is one of those that are allowed, and is listed."""
    for name, text in installed().items():
        assert any(word in text for word in ALLOWED), f"{name}: {text}"
        assert f"| {name} |" in LICENCES, f"docs/project/licences.md lacks | {name} | {text} |"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_the_systemd_unit_has_few_rights():
    """Below 3 of 10."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", ROOT / "configs" / "crew.service"],
        capture_output=True,
        text=True,
    )
    found = re.search(r"Overall exposure level for crew.service: ([\d.]+)", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) < 3
