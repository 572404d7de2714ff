"""OIDC bearer tokens and identity headers: who is let in, and each way in that is none."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from server.identity import _read
from tests.support.processes import ServerProcess, client, serving
from tests.support.served_crew import crew

ISSUER, AUDIENCE = "https://login.example.com", "crew"
RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
OTHER_KEY = rsa.generate_private_key(65537, 2048)


def keys(**named: Any) -> str:
    made = []
    for kid, key in named.items():
        is_rsa = isinstance(key, rsa.RSAPrivateKey)
        algorithm: Any = jwt.algorithms.RSAAlgorithm if is_rsa else jwt.algorithms.ECAlgorithm
        jwk = json.loads(algorithm.to_jwk(key.public_key()))
        made.append({**jwk, "kid": kid, "alg": "RS256" if is_rsa else "ES256", "use": "sig"})
    return json.dumps({"keys": made})


def token(key: Any = RSA_KEY, kid: str = "one", algorithm: str = "RS256", **claims: Any) -> str:
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ann",
        "exp": int(time.time()) + 86_400,
        "scope": "openid crew:read crew:run crew:answer",
        **claims,
    }
    given = {name: value for name, value in said.items() if value is not None}
    return jwt.encode(given, key, algorithm, headers={"kid": kid})


def unsigned() -> str:
    def part(data: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()

    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": int(time.time()) + 86_400}
    return f"{part({'alg': 'none', 'kid': 'one'})}.{part(claims)}."


def confused() -> str:
    """The public key, which everybody has, taken for a shared secret."""
    public = RSA_KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head, claims, _ = token().split(".")
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "one"}).encode()).decode()
    signed = f"{head.rstrip('=')}.{claims}".encode()
    digest = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(signed, public)
    return f"{signed.decode()}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("oidc")
    place = folder / "keys.json"
    place.write_text(keys(one=RSA_KEY, two=EC_KEY))
    settings = {
        "CREW_OIDC_ISSUER": ISSUER,
        "CREW_OIDC_AUDIENCE": AUDIENCE,
        "CREW_OIDC_KEYS": str(place),
        # so that wrong tokens of one test do not slow those of another
        "CREW_TRUSTED_PROXIES": "127.0.0.1",
        "CREW_API_TOKENS": "shop:shop-0123456789abcdef",
    }
    with serving(crew(folder), **settings) as started:
        yield started


def ask(http: httpx2.Client, shown: str, path: str = "/api/crew/runs", **options: Any) -> Any:
    headers = {"Authorization": f"Bearer {shown}", "X-Forwarded-For": f"10.0.0.{hash(shown) % 250}"}
    return http.request(options.pop("method", "GET"), path, headers=headers, **options)


@pytest.mark.parametrize(
    "shown",
    [
        token(),
        token(EC_KEY, "two", "ES256"),
        token(scope=["crew:read"]),
        token(scope=None, scp="crew:read"),
        token(aud=["other", AUDIENCE]),
    ],
    ids=["rsa", "ec", "list", "scp", "audiences"],
)
def test_who_is_let_in(server: ServerProcess, shown: str):
    """With a signature of the issuer's, in the forms that issuers have."""
    with client(server) as http:
        assert ask(http, shown).status_code == 200


@pytest.mark.parametrize(
    "shown",
    [
        token(OTHER_KEY),
        token(aud="other"),
        token(aud=None),
        token(iss="https://other.example.com"),
        token(exp=int(time.time()) - 60),
        token(exp=None),
        token(sub=None),
        token(nbf=int(time.time()) + 86_400),
        token(kid="three"),
        unsigned(),
        confused(),
        token()[:-6] + "AAAAAA",
        "a.b.c",
        "." * 50,
    ],
    ids=[
        *("other-key", "other-audience", "no-audience", "other-issuer", "over", "for-ever"),
        *("nobody", "not-yet", "unknown-key", "none", "confused", "changed", "nonsense", "dots"),
    ],
)
def test_who_is_not(server: ServerProcess, shown: str):
    """Each a 401."""
    with client(server) as http:
        assert ask(http, shown).status_code == 401


def test_what_somebody_may(server: ServerProcess):
    """By the scopes that begin with crew:, and as the owner of its runs."""
    with client(server) as http:
        nothing, reader = token(sub="x", scope="openid admin read"), token(scope="crew:read")
        assert ask(http, nothing).status_code == 403
        query = {"json": {"query": "x"}, "method": "POST"}
        assert ask(http, reader, "/api/crew/run", **query).status_code == 403
        run_id = ask(http, token(), "/api/crew/run", **query).json()["run_id"]
        run = f"/api/crew/runs/{run_id}"
        assert ask(http, reader, run).json()["owner"] == "oidc/ann"
        assert ask(http, token(sub="bob"), run).status_code == 404
        assert ask(http, token(sub="boss", scope="crew:admin"), run).status_code == 200
        # a token's name is none of these owners
        assert ask(http, "shop-0123456789abcdef", run).status_code == 404
        odd = token(sub="auth0|täg:1")
        owner = ask(http, odd, "/api/crew/run", **query).json()["run_id"]
        assert ask(http, odd, f"/api/crew/runs/{owner}").json()["owner"].startswith("oidc/")
        ticket = ask(http, token(), "/api/crew/tickets", method="POST", json={})
        assert ticket.status_code == 403


def test_known_keys_stay(tmp_path: Path):
    """Also when their file is broken."""
    place = tmp_path / "keys.json"
    place.write_text(keys(one=RSA_KEY))
    settings = {"CREW_OIDC_ISSUER": ISSUER, "CREW_OIDC_AUDIENCE": AUDIENCE}
    with (
        serving(crew(tmp_path), CREW_OIDC_KEYS=str(place), **settings) as server,
        client(server) as http,
    ):
        assert ask(http, token()).status_code == 200
        place.write_text("broken")
        assert ask(http, token()).status_code == 200
        # an unknown one is looked for, but not each time
        assert ask(http, token(kid="three")).status_code == 401


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"CREW_OIDC_ISSUER": ISSUER}, "CREW_OIDC_AUDIENCE is not set"),
        (
            {
                "CREW_OIDC_ISSUER": ISSUER,
                "CREW_OIDC_AUDIENCE": "x",
                "CREW_OIDC_KEYS": "http://login.example.com/keys",
            },
            "https:// or from a file",
        ),
        ({"CREW_IDENTITY_HEADER": "X-User"}, "needs CREW_TRUSTED_PROXIES"),
        (
            {"CREW_IDENTITY_HEADER": "X User", "CREW_TRUSTED_PROXIES": "127.0.0.1"},
            "no name of a header",
        ),
        ({"CREW_IDENTITY_ADMINS": "ann"}, "no effect"),
    ],
)
def test_wrong_settings(tmp_path: Path, settings: dict[str, str], wrong: str):
    """Told at the start."""
    with (
        pytest.raises(AssertionError, match=wrong),
        serving(crew(tmp_path), **settings),
    ):
        pass


def test_the_header_of_a_proxy(tmp_path: Path):
    """It says who calls; nobody is let in without it."""
    settings = {
        "CREW_IDENTITY_HEADER": "X-User",
        "CREW_TRUSTED_PROXIES": "127.0.0.1",
        "CREW_IDENTITY_ADMINS": "boss@example.com",
    }
    with serving(crew(tmp_path), **settings) as server, client(server) as http:

        def by(*users: str) -> list[tuple[str, str]]:
            return [("X-Forwarded-For", "10.0.0.1"), *(("X-User", user) for user in users)]

        assert http.get("/api/crew/runs").status_code == 401
        made = http.post("/api/crew/run", json={"query": "x"}, headers=by("ann")).json()
        run = f"/api/crew/runs/{made['run_id']}"
        assert http.get(run, headers=by("ann")).json()["owner"] == "user/ann"
        assert http.get(run, headers=by("bob")).status_code == 404
        assert http.get(run, headers=by("boss@example.com")).status_code == 200
        # one that the client itself has sent, and the proxy's
        assert http.get(run, headers=by("boss@example.com", "bob")).status_code == 401
        assert http.get(run, headers=by("")).status_code == 401
        assert http.post("/api/crew/reload", headers=by("ann")).status_code == 403


def test_the_header_of_anybody_else(tmp_path: Path):
    """From an address that is no proxy's it says nothing, whatever X-Forwarded-For says."""
    settings = {"CREW_IDENTITY_HEADER": "X-User", "CREW_TRUSTED_PROXIES": "10.0.0.0/8"}
    with serving(crew(tmp_path), **settings) as server, client(server) as http:
        headers = {"X-User": "ann", "X-Forwarded-For": "10.0.0.1"}
        assert http.get("/api/crew/runs", headers=headers).status_code == 401


def test_keys_come_from_no_other_address():
    """A redirect is not followed: it might lead to where anybody can answer."""

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/there" else 302)
            self.send_header("Location", "/there")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as keeper:
        threading.Thread(target=keeper.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{keeper.server_address[1]}"
        assert _read(f"{address}/there") == "{}"
        with pytest.raises(HTTPError, match="302"):
            _read(f"{address}/keys")
        keeper.shutdown()
