"""Tokens: made, listed, revoked, kept from tools; wrong ones."""

from pathlib import Path

from tests.end_to_end.test_who_may import TOKENS, as_, crew, start
from tests.support import forked
from tests.support.processes import client, serving, sse, until


def test_wrong_tokens_are_slowed_down(tmp_path: Path):
    """Logged and counted, with the address; also in the form; the right one waits as well, then works."""
    with serving(crew(tmp_path), CREW_API_TOKENS=TOKENS["boss"]) as server, client(server) as http:
        codes = [
            http.get("/api/crew", headers={"Authorization": f"Bearer {n:016}"}).status_code
            for n in range(15)
        ]
        assert codes == [401] * 10 + [429] * 5
        assert http.get("/api/crew", headers=as_("boss")).headers["retry-after"].isdigit()
        assert http.post("/session", content="token=x").status_code == 429
        assert http.post("/session", content="a=b&" * 2000).status_code == 429
        assert http.get("/health").status_code == 200
        text = server.log.read_text()
    assert "a wrong token came from 127.0.0.1" in text
    assert f"{3:016}" not in text


def token(*arguments: str, status: int = 0) -> str:
    ended = forked.crew("token", *arguments)
    assert ended.returncode == status, ended.stderr
    return ended.stdout.strip() if status == 0 else ended.stderr


def test_a_file_of_tokens(tmp_path: Path):
    """Made, listed and revoked by the command; a running server follows; hashed, for its owner only."""
    file = tmp_path / "tokens.yaml"
    own = ("--file", str(file))
    secret = token("new", "shop", "--scope", "read", "--scope", "run", "--days", "30", *own)
    assert secret not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "shop  shop  read,run  until " in token("list", *own)
    assert "has a token 'shop'" in token("new", "shop", *own, status=2)
    assert "a scope is one of" in token("new", "x", "--scope", "root", *own, status=2)
    shown = {"Authorization": f"Bearer {secret}"}
    with serving(crew(tmp_path), CREW_TOKEN_FILE=str(file)) as server, client(server) as http:
        assert http.get("/api/crew", headers=shown).status_code == 200
        assert http.post("/api/crew/reload", headers=shown).status_code == 403
        # a broken edit changes nothing
        kept = file.read_text()
        file.write_text("tokens: [{name: shop}]")
        assert http.get("/api/crew", headers=shown).status_code == 200
        until(lambda: "the tokens stay as they were" in server.log.read_text())
        file.write_text(kept)
        ticket = http.post("/api/crew/tickets", json={}, headers=shown).json()["ticket"]
        token("revoke", "shop", *own)
        assert http.get("/api/crew", headers=shown).status_code == 401
        asked = {"q": "x", "ticket": ticket}
        assert http.get("/api/crew/stream", params=asked).status_code == 401
    file.write_text(kept.replace("expires: '2", "expires: '1"))
    with serving(crew(tmp_path), CREW_TOKEN_FILE=str(file)) as server, client(server) as http:
        assert http.get("/api/crew", headers=shown).status_code == 401


def test_tools_do_not_see_the_tokens(tmp_path: Path):
    """They are out of the environment before any is loaded."""
    folder = crew(tmp_path)
    tell = 'import os\n\ndef pay(to: str) -> str:\n    """Pay."""\n'
    (folder / "acts.py").write_text(f"{tell}    return os.environ.get('CREW_API_TOKENS', 'none')\n")
    with serving(folder, CREW_API_TOKENS=TOKENS["boss"]) as server, client(server) as http:
        run_id = start(http, "boss", "pay")
        body = {"query": "yes", "run_id": run_id, "decision": "approve"}
        http.post("/api/crew/run", json=body, headers=as_("boss"))
        events = http.get(f"/api/crew/runs/{run_id}/events", headers=as_("boss")).text
    (result,) = [event for event in sse(events) if event["type"] == "tool_result"]
    assert result["content"].endswith("→ none")


def test_serve_makes_a_token(tmp_path: Path):
    """And prints it as a link, which leads to the console."""
    with serving(crew(tmp_path), "--token") as server, client(server) as http:
        link = next(
            line for line in server.log.read_text().splitlines() if line.startswith("open http")
        )
        secret = link.partition("token=")[2]
        assert http.get("/api/crew").status_code == 401
        opened = http.get(f"/?token={secret}")
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert http.get("/api/crew").status_code == 200
