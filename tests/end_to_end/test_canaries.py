"""Fifty users, each with a canary at every place, and every door tried by each of them: none is seen by another."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.documents import call
from tests.support.processes import client, serving, until

USERS = [f"u{number:02}" for number in range(50)]
TOKENS = {user: f"{user}-0123456789abcdef" for user in USERS}
# a word that all of them have, by which all would be found
SHARED = "canarybird"
FINDING = [
    *call("SearchDocuments", query=SHARED),
    *call("ListDocuments"),
    *call("Recall", query=SHARED),
]
TOOLS = ("SearchDocuments", "ListDocuments", "Recall")
SAID = " ".join(f"{{{{result.{tool}}}}}" for tool in TOOLS)
RULES: list[dict[str, Any]] = [
    {"agent": agent, "after": list(TOOLS), "say": SAID} for agent in ("alone", "one", "two")
] + [
    {"agent": "alone", "hears": "everyone", "say": "[ALL]"},
    {"agent": ["alone", "one", "two"], "calls": FINDING},
]
AGENT: dict[str, Any] = {"tools": ["Recall", "EditCore"], "documents": ["papers", "sent"]}


PLACES = (
    "/documents/papers/{canary}.txt",
    "/documents/sent/{canary}.txt?conversation_id=c1",
)


def canary(user: str) -> str:
    return f"canary-of-{user}-9d1"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    folder = write_crew(
        tmp_path_factory.mktemp("canaries"),
        {"alone": AGENT, "one": AGENT, "two": AGENT},
        RULES,
        routing={
            "signals": {"alone": [{"signal": "[ALL]", "target": "all"}]},
            "defaults": {"alone": None},
            "parallel_groups": {"all": {"agents": ["one", "two"]}},
        },
        conversations={},
        memory={"recall": {}, "core": {"notes": {"description": "notes"}}},
        documents={
            "papers": {"description": "of a person", "scope": "user", "summaries": "none"},
            "sent": {"description": "of a conversation", "summaries": "none"},
        },
    )
    entries = ",".join(f"{user}+read+run:{token}" for user, token in TOKENS.items())
    with serving(folder, CREW_API_TOKENS=entries) as server, client(server) as opened:
        for user in USERS:
            fill(opened, user)
        # a hundred processes read them, one after the other
        until(lambda: all(is_read(opened, user) for user in USERS), seconds=240)
        yield opened


def send(http: httpx2.Client, method: str, path: str, user: str, **more: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {TOKENS[user]}", **more.pop("headers", {})}
    return http.request(method, f"/api/crew{path}", headers=headers, **more)


def fill(http: httpx2.Client, user: str) -> None:
    """Leave a canary at every place; all conversations have the same id."""
    word = f"{SHARED} {canary(user)}"
    body = {"query": f"hello {word}", "conversation_id": "c1"}
    assert send(http, "POST", "/run", user, json=body).status_code == 200
    item = {"text": f"likes {word}", "key": "what is liked"}
    assert send(http, "POST", f"/users/{user}/recall", user, json=item).status_code == 201
    block = send(
        http,
        "PUT",
        f"/users/{user}/core/notes",
        user,
        json={"value": word},
        headers={"If-Match": "*"},
    )
    assert block.status_code == 200
    for place in PLACES:
        path = place.format(canary=canary(user))
        sent = send(http, "PUT", path, user, content=word.encode())
        assert sent.status_code == 202, sent.text


def is_read(http: httpx2.Client, user: str) -> bool:
    paths = [place.format(canary=canary(user)) for place in PLACES]
    found = [send(http, "GET", path, user).json()["status"] for path in paths]
    return found == ["ready", "ready"]


DOORS = (
    "/runs",
    f"/runs?text={SHARED}",
    "/inbox",
    "/conversations",
    f"/conversations?q={SHARED}",
    "/conversations/c1",
    "/conversations/c1/export?format=md",
    "/users/{user}/core/notes",
    "/users/{user}/recall",
    f"/users/{{user}}/recall?q={SHARED}&replaced=1",
    "/users/{user}/export",
    "/documents/papers",
    f"/documents/papers?q={SHARED}",
    "/documents/papers/{canary}.txt/text",
    "/documents/sent?conversation_id=c1",
    f"/documents/sent?conversation_id=c1&q={SHARED}",
    "/documents/sent/{canary}.txt/text?conversation_id=c1",
)


@pytest.mark.parametrize("door", DOORS)
def test_a_door_shows_the_own_canary_alone(door: str, http: httpx2.Client):
    for user in USERS:
        answer = send(http, "GET", door.format(user=user, canary=canary(user)), user)
        assert answer.status_code == 200, answer.text
        others = [one for one in USERS if one != user and canary(one) in answer.text]
        assert others == [], (door, user)
        if door != "/inbox":
            assert canary(user) in answer.text, (door, user)


@pytest.mark.parametrize("query", ["alone", "everyone"])
def test_tools_find_the_own_canary_alone(query: str, http: httpx2.Client):
    """By themselves and in a group, in conversations of one id."""
    for user in USERS:
        body = {"query": query, "conversation_id": "c1"}
        with_events = send(http, "POST", "/stream", user, json=body).text
        others = [one for one in USERS if one != user and canary(one) in with_events]
        assert others == [], user
        # both documents are found, whatever others have of the same words
        assert with_events.count(f"] {canary(user)}.txt") >= 2, user


def test_others_are_refused(http: httpx2.Client):
    """What is named by the address, or by a parameter, is another one's."""
    runs = {
        user: send(http, "GET", "/runs", user).json()["runs"][0]["run_id"] for user in USERS[:2]
    }
    one, two = USERS[:2]
    for path, status in (
        (f"/runs/{runs[two]}", 404),
        (f"/runs/{runs[two]}/events", 404),
        (f"/users/{two}/core/notes", 403),
        (f"/users/{two}/recall", 403),
        (f"/users/{two}/export", 403),
        (f"/documents/papers?user_id={two}", 403),
        (f"/documents/papers/{canary(two)}.txt/text?user_id={two}", 403),
        (f"/documents/papers/{canary(two)}.txt", 404),
        (f"/conversations/c1?user_id={two}", 403),
    ):
        answer = send(http, "GET", path, one)
        assert (answer.status_code, SHARED in answer.text) == (status, False), path
