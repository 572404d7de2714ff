"""What may be a secret is not shown, and what is shown keeps its columns."""

import pytest

from crew.config.files.redaction import redact_lines

PROVIDERS = """\
agents: [a]
providers:
  gw:
    base_url: https://me:hunter2@gw/v1 # ours
    api_key: sk-1
    headers:
      X-Key: "se cret"
      X-Other: ${TEAM}
    timeout_seconds: 5
name: shown
"""


def test_addresses_of_channels_are_masked():
    """Who knows that of a chat may post."""
    lines = redact_lines("notify:\n  chat:\n    kind: slack\n    url: https://h.example/hunter4\n")
    assert not any("hunter4" in (line or "") for line in lines)


@pytest.mark.parametrize("secret", ["hunter2", "sk-1", "se cret", "//me", "gw/v1"])
def test_values_of_providers_are_masked(secret: str):
    """Whatever they are called; names of variables and numbers stay."""
    lines = redact_lines(PROVIDERS)
    assert not any(secret in (line or "") for line in lines)
    assert lines[7] == "      X-Other: ${TEAM}"
    assert lines[8] == "    timeout_seconds: 5"
    assert lines[9] == "name: shown"
    assert lines[3] is not None
    assert lines[3].index("•") == 14


def test_a_tokenizer_is_no_secret():
    """But a token beside it is one."""
    line = "  fast: { tokenizer: tiktoken:o200k_bse }"
    assert redact_lines(line) == [line]
    assert redact_lines(f"{line} # token: hunter2") == [None]


@pytest.mark.parametrize(
    "line",
    [
        "providers: {gw: {base_url: 'https://u:hunter3@gw', headers: {X-Key: hunter3}, timeout_secs: 3}}",
        "x-gw: &gw {headers: {X-Key: hunter3}}",
        "{agents: [a], providers: {gw: {base_url: https://u:hunter3@gw}}}",
        "provider_url: https://u:hunter3@gw/v1",
        "x-base: {api_key: hunter3}",
        "x: {password: hunter3}",
        "notify: {chat: {kind: slack, url: https://hooks.slack.com/services/hunter3}}",
    ],
)
def test_one_line_is_enough(line: str):
    """In flow style, under an anchor, in an address."""
    (shown,) = redact_lines(line)
    assert "hunter3" not in (shown or "")
    assert shown is None or len(shown) == len(line)
