"""What of `notify` is a secret: keys that hold one, and not addresses, hosts and names."""

from pathlib import Path

import pytest

from crew import check, load_crew
from tests.support.crews import write_crew

ENVIRONMENT = {
    "HOOK_SECRET": "production",
    "TOPIC": "on-call-team",
    "SMTP": "smtp.example.com",
    "CHAT": "https://chat.example.com/hooks/T0/B0/abcdef",
    "MAIL": "alerts@example.com",
}
NOTIFY = {
    "hook": {"kind": "webhook", "url": "http://127.0.0.1:9/x", "secret": "${HOOK_SECRET}"},
    "push": {"kind": "ntfy", "url": "https://ntfy.example.com/${TOPIC}"},
    "chat": {"kind": "slack", "url": "${CHAT}"},
    "mail": {"kind": "email", "host": "${SMTP}", "sender": "${MAIL}", "to": ["${MAIL}"]},
}


def test_addresses_and_names_are_not_masked(tmp_path: Path):
    """They stand in answers, too; the address of a chat is a secret, whoever knows it may post."""
    folder = write_crew(tmp_path, {"a": {}}, notify=NOTIFY)
    mask = load_crew(folder, environment={**ENVIRONMENT, "HOOK_SECRET": "k" * 30}).secrets.mask
    text = "on-call-team, smtp.example.com, alerts@example.com"
    assert mask(text) == text
    assert mask(f"see {ENVIRONMENT['CHAT']}") == "see ***"
    assert mask(f"with {'k' * 30}") == "with ***"


@pytest.mark.parametrize("secret", ["production", "You are a."])
def test_a_weak_secret_is_a_warning(tmp_path: Path, secret: str):
    """One lower-case word, or what stands in the crew's files."""
    folder = write_crew(tmp_path, {"a": {}}, notify={"hook": NOTIFY["hook"]})
    found = check(folder, environment={"HOOK_SECRET": secret}).problems
    assert [(one.code, one.severity) for one in found] == [("weak-secret", "warning")]
    strong = {"HOOK_SECRET": "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f2"}
    assert check(folder, environment=strong).problems == ()
