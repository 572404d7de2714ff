"""What is left out of what is kept of runs, and what is not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.rehearsal.cassettes.redaction import Redactor
from tests.crew.rehearsal.test_keeping import SECRETS


@given(
    st.lists(st.sampled_from(SECRETS), min_size=1, max_size=4),
    st.lists(st.text(alphabet=" \n,;(){}[]", min_size=1, max_size=3), min_size=5, max_size=5),
)
def test_a_secret_is_found_between_other_signs(chosen: list[str], between: list[str]):
    text = "".join(f"{gap}password={one}" for gap, one in zip(between, chosen, strict=False))
    value = {"text": text, "again": [text], "token": chosen[0]}
    redactor = Redactor(lambda one: one)
    redactor.learn(value)
    found = redactor.redact(value)
    assert not [one for one in chosen if one in json.dumps(found, ensure_ascii=False)]
    assert found["again"] == [found["text"]]
    assert redactor.redact(found) == found


LEAKS: list[tuple[Any, str]] = [
    ('{\\"password\\": \\"abc123x\\"}', "abc123x"),
    ('{\\"token\\": \\"tok123456\\"}', "tok123456"),
    ("Authorization: Token 9944b09199c62bcf9418dd0e4bb", "9944"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNl"),
    ("Bearer aaa.bbb.ccc", "aaa.bbb"),
    ("Set-Cookie: sid=abc123", "abc123"),
    ("pwd=abc12345", "abc12345"),
    ("password:    xyz", "xyz"),
    ('password => "x1y2"', "x1y2"),
    ("<password>x9</password>", "x9"),
    ("--password hunter2secret", "hunter2"),
    ("curl -u admin:hunter2secret", "hunter2"),
    ("password: abc", "abc"),
    ("https://x/?api_key=abc123def&x", "abc123"),
    ("https://h/?sig=a1b2c3d4", "a1b2c3d4"),
    ("postgres://user:p/ss@host/x", "p/ss"),
    ("postgres://user:pa@ss@host/x", "a@ss"),
    ("https://hooks.slack.com/services/T0/B0/Xyz12", "Xyz12"),
    ("whsec_abcdef0123456789abcdef", "abcdef01"),
    ("SG.abcdefgh12.abcdefgh34", "abcdefgh12"),
    ("ya29.a0AfH6SMBx", "a0Af"),
    ("dop_v1_abcdef0123456789", "abcdef01"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----", "abc"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabcdef", "abcdef"),
    ("(415)555-2671", "555"),
    ("1-415-555-2671", "415"),
    ("13812345678", "138"),
    ("138 1234 5678", "1234"),
    ("01.23.45.67.89", "23.45"),
    ("8 (912) 345-67-89", "345"),
    ("040 - 123 45 67", "123"),
    ("07911123456", "0791"),
    ("0912345678", "0912"),
    ("028.3823.4567", "3823"),
    ("user%40example.com", "user%40"),
    ("o'brien@ex.com", "o'brien"),
    ("DE89 3704 0044 0532 0130 00", "3704"),
    ("password is hunter22", "hunter22"),
    ({"password": 87654321}, "8765"),
    ({"pin": 9876}, "9876"),
    (
        {
            "auth": "abc12345",
            "session": "s1s2s3",
            "password_hash": "h4sh77",
            "clientSecretValue": "v4lue9",
            "token_value": "tv123456",
        },
        "h4sh77",
    ),
    ({"phone": "0912345678"}, "0912"),
    ("password = 'pa ss wo rd 1'", "wo rd"),
    ('api_key: "zz;yy&xx99"', "yy&xx"),
    ('{"password": "with\\"quote99"}', "quote99"),
    ("Authorization: Bearer abc123def456", "abc123"),
    ("postgres://u:p@ssw0rd@host/x", "ssw0rd"),
    ("sk-abcdefghijklmnop1234", "sk-abc"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJz"),
]
HARMLESS = [
    "max_tokens: 500000",
    "tokens: 119300",
    '{"input_tokens": 1234567}',
    "primary_key: user_id",
    "foreign_key=customer",
    "sort_key: created_at",
    "public_key: abcdefg",
    "Token:identifier expected",
    "monkey: bananas",
    "Turkey: Istanbul",
    "hotkey: Ctrl+Alt",
    "password=${DB_PASSWORD}",
    "sk-learn-something-long",
    "pk_some_long_name_here",
    "npm-run-something-long-script",
    "Basic understandability",
    "lodash@4.17.21",
    "user@10.0.0.1",
    "01-02-2026",
    "100 200 3000",
    "045 123456789 ms",
    "022 810 000",
    "00 123456",
    "token: returned late",
    "Token: success",
    "sort_key=DATABASE",
    "550e8400-e29b-41d4-a716-446655440000",
    "http://localhost:9123/x?mail=a@b",
    "order 4711-22",
    "1764331400",
    "1764331400123",
    "2026-11-28T10:22:13Z 192.168.100.200 8402 ms 1,000,000 rows 10:22:13 v1.22.333 0.5 %",
]


def redacted(value: Any, *patterns: str) -> Any:
    redactor = Redactor(lambda one: one, patterns)
    redactor.learn(value)
    return redactor.redact(value)


@pytest.mark.parametrize(("value", "part"), LEAKS)
def test_forms_of_secrets_and_personal_data(value: Any, part: str):
    """As people, programs and JSON within JSON write them; some found by an attack."""
    assert part not in json.dumps(redacted(value), ensure_ascii=False)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_like_one_and_is_none(text: str):
    assert redacted(text) == text


def test_a_word_is_replaced_where_it_stands_only():
    assert redacted(["password: please", "please do"]) == ["password: <secret 1>", "please do"]
    assert redacted(["<secret 1>", "password: hunter2"]) == ["<secret 1>", "password: <secret 2>"]
    assert redacted({"password": 12345678, "n": "0912345678x"})["n"] == "0912345678x"


def test_patterns_of_a_crew():
    assert redacted("CASE-12 abc", r"(CASE-\d+)|(abc)") == "<redacted 1> <redacted 2>"
    assert redacted("CASE-12", r"CASE-(\d+)", "x*") == "<redacted 1>"


def test_long_texts_take_no_time():
    """No rule looks at the same characters again and again."""
    for part in ("a", "-", "@", "a@", "+1 ", "password=", "://a:", "eyJ", "0-", "-----BEGIN "):
        redactor = Redactor(lambda one: one)
        redactor.learn(part * (200_000 // len(part)))
