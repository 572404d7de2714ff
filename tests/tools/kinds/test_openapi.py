"""Operations of OpenAPI documents as tools: real documents, references, what cannot be sent."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

import pytest
import uvicorn
from fastapi import FastAPI, Header, HTTPException, Query
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.support.made_tools import MadeTool, tools_of
from tools.errors import ArgumentsError, ToolDefinitionError
from tools.kinds.openapi.document import ApiDocument

DOCUMENT = "api.json"


class Owner(BaseModel):
    """Who has a pet."""

    name: str


class Pet(BaseModel):
    """A pet."""

    name: Annotated[str, Field(min_length=1)]
    age: int | None = None
    owners: list[Owner] = []


def pet_api() -> FastAPI:
    """An API as people write one."""
    api = FastAPI()
    pets: dict[int, Pet] = {}

    @api.get("/pets", operation_id="listPets", summary="All pets")
    def list_pets(
        tag: Annotated[list[str] | None, Query()] = None, limit: int = 10
    ) -> dict[str, Any]:
        return {"limit": limit, "tag": tag, "names": [pet.name for pet in pets.values()]}

    @api.get("/pets/{pet_id}")
    def read_pet(pet_id: int, x_trace: Annotated[str | None, Header()] = None) -> dict[str, Any]:
        if pet_id not in pets:
            raise HTTPException(404, "no such pet")
        return {**pets[pet_id].model_dump(), "trace": x_trace}

    @api.put("/pets/{pet_id}", operation_id="keep pet!")
    def keep_pet(pet_id: int, pet: Pet, dry: bool = False) -> dict[str, Any]:
        if not dry:
            pets[pet_id] = pet
        return {"kept": not dry}

    return api


@asynccontextmanager
async def serving(api: FastAPI) -> AsyncIterator[str]:
    """The address of an API that is served."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(api, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def made(
    document: Any, server: str = "https://api.example.com", **entry: Any
) -> AsyncIterator[dict[str, MadeTool]]:
    entry = {"document": DOCUMENT, "server": server, "allow_private": ["127.0.0.0/8"], **entry}
    if "operations" not in entry:
        entry["operations"] = [one.id or one.place for one in ApiDocument(document).operations]
    async with tools_of("openapi", documents={DOCUMENT: document}, **entry) as tools:
        yield tools


async def test_an_api_of_fastapi_as_tools():
    """Its own document; path, query, header and body reach it, and its answers the model."""
    api = pet_api()
    document = json.loads(json.dumps(api.openapi()))
    operations = ["listPets", "GET /pets/{pet_id}", "keep pet!"]
    async with serving(api) as address, made(document, address, operations=operations) as tools:
        assert list(tools) == ["T_listPets", "T_read_pet_pets__pet_id__get", "T_keep_pet"]
        list_pets, read, keep = tools.values()
        assert [one.tool.effect for one in tools.values()] == ["read", "read", "once"]
        assert list_pets.tool.description == "All pets"
        ann = {"name": "Kim", "owners": [{"name": "Ann"}]}
        kept = await keep(pet_id=7, body=ann)
        assert (kept.status, json.loads(kept.output)) == ("success", {"kept": True})
        assert json.loads((await keep(pet_id=8, dry="true", body=ann)).output) == {"kept": False}
        found = await read(pet_id=7, **{"x-trace": "t1"})
        assert json.loads(found.output) == {**ann, "age": None, "trace": "t1"}
        listed = json.loads((await list_pets(limit=5, tag=["a", "b&c"])).output)
        assert listed == {"limit": 5, "tag": ["a", "b&c"], "names": ["Kim"]}
        missing = await read(pet_id=9)
        assert (missing.status, missing.facts["http_status"]) == ("error", 404)
        for wrong in ({"pet_id": 7}, {"pet_id": 7, "body": {"name": ""}}, {"pet_id": 7, "body": 3}):
            refused = await keep(**wrong)
            assert (refused.status, refused.attempts) == ("error", 0), wrong
        assert (await read(pet_id="../7")).attempts == 0


def operation(**more: Any) -> dict[str, Any]:
    """A document with one operation, GET /x, or of another method."""
    method, path = more.pop("method", "get"), more.pop("path", "/x")
    version, rest = more.pop("version", "3.1.0"), more.pop("rest", {})
    return {"openapi": version, "paths": {path: {method: more}}, **rest}


def body(schema: Any, **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, **more}}


async def parameters_of(document: Any) -> dict[str, Any]:
    async with made(document) as tools:
        return next(iter(tools.values())).tool.parameters


async def test_references_become_definitions_of_the_tool():
    """Each once, with those that it refers to, and no other of the document."""
    schemas = {
        "Pet": {
            "type": "object",
            "properties": {"owner": {"$ref": "#/components/schemas/Owner"}},
        },
        "Owner": {"type": "object", "properties": {"name": {"type": "string"}}},
        "Other": {"type": "object"},
    }
    pet = {"$ref": "#/components/schemas/Pet"}
    two = {"type": "object", "properties": {"a": pet, "b": pet}}
    document = operation(
        method="post", **body(two, required=True), rest={"components": {"schemas": schemas}}
    )
    found = await parameters_of(document)
    assert (set(found["$defs"]), found["required"]) == ({"Pet", "Owner"}, ["body"])
    async with made(document) as tools:
        check = next(iter(tools.values())).tool.check
        check({"body": {"a": {"owner": {"name": "x"}}}})
        with pytest.raises(ArgumentsError, match="name"):
            check({"body": {"b": {"owner": {"name": [3]}}}})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "nullable": True}, [None, "x"], [[3]]),
        ({"type": "string", "enum": ["a"], "nullable": True}, [None, "a"], ["b"]),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, [4], [3]),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": False}, [3], [2]),
        ({"allOf": [{"type": "string"}], "nullable": True}, [None, "x"], [3]),
        (
            {
                "type": "object",
                "required": ["id", "name"],
                "properties": {"id": {"readOnly": True}, "name": {"type": "string"}},
                "additionalProperties": False,
            },
            [{"name": "x"}],
            [{"id": 1, "name": "x"}, {}],
        ),
    ],
)
async def test_a_document_of_version_30(schema: Any, good: list[Any], bad: list[Any]):
    """Writes some things otherwise than JSON Schema does."""
    document = operation(version="3.0.3", method="post", **body(schema, required=True))
    async with made(document) as tools:
        check = tools["T_post_x"].tool.check
        for value in good:
            assert check({"body": value}) == {"body": value}
        for value in bad:
            with pytest.raises(ArgumentsError):
                check({"body": value})


async def test_names_that_are_used_twice():
    """Arguments of one name have each their place; names that no place can have are changed."""
    document = operation(
        path="/x/{id}/{2nd part}",
        parameters=[
            {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
            {"name": "2nd part", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "id", "in": "query", "schema": {"type": "string"}},
            {"name": "filter[name]", "in": "query", "description": "Part of a name"},
            {"name": "X-Id", "in": "header"},
            {"name": "Authorization", "in": "header"},
            {"name": "X-Key", "in": "header", "required": True},
        ],
    )
    async with made(document, headers={"x-key": "k"}) as tools:
        (tool,) = tools.values()
        assert list(tool.tool.parameters["properties"]) == [
            "id",
            "_2nd_part",
            "id_query",
            "filter_name",
            "X-Id",
        ]
        assert tool.tool.parameters["required"] == ["id", "_2nd_part"]
        assert tool.tool.show is not None
        shown = tool.tool.show({"id": 1, "_2nd_part": "a/b", "id_query": "q", "filter_name": "é"})
        assert shown == "GET https://api.example.com/x/1/a%2Fb?id=q&filter%5Bname%5D=%C3%A9"


REQUIRED = {"required": True}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"swagger": "2.0", "paths": {}}, "version 2.0; 3.0 and 3.1"),
        ({"openapi": "3.2.0", "paths": {}}, "version 3.2.0"),
        ({"paths": {}}, "no key openapi"),
        ([], "no key openapi"),
        ({"openapi": "3.1.0"}, "no operation 'GET /x'; it has none"),
        ({"openapi": "3.1.0", "paths": []}, "paths is no mapping"),
        (operation(path="/y"), "did you mean 'GET /y'"),
        (operation(path="/x", parameters={}), "parameters is no list"),
        (operation(parameters=[{"name": "s", "in": "cookie", **REQUIRED}]), "is in a cookie"),
        (operation(parameters=[{"name": "s", "in": "query", "style": "deepObject", **REQUIRED}]),
         "style deepObject"),
        (operation(parameters=[{"name": "s", "in": "query", "explode": False, **REQUIRED,
                                "schema": {"type": "array"}}]), "a list in one text"),
        (operation(parameters=[{"name": "s", "in": "query", "content": {}, **REQUIRED}]),
         "encoded in a way of its own"),
        (operation(parameters=[{"name": "s", "in": "query", "schema": {"type": "object"},
                                **REQUIRED}]), "an object or a list"),
        (operation(parameters=[{"name": "s"}]), "no name, or no `in`"),
        (operation(parameters=[{"$ref": "#/no"}]), "#/no refers to nothing"),
        (operation(parameters=[{"$ref": "#/x"}], rest={"x": {"$ref": "#/x"}}), "in a circle"),
        (operation(method="post", requestBody={"content": {"text/csv": {}}, **REQUIRED}),
         "a body of text/csv; only JSON"),
        (operation(**body({}, required=True)), "and none with GET"),
        (operation(method="post", **body({"$ref": "#/x"}), rest={"x": {"items": {"$ref": "#/x"}}}),
         "contains itself"),
        (operation(method="post", **body({"type": "nothing"})), "no JSON schema"),
        (operation(method="post", **body({"allOf": {}})), "no list"),
        (operation(method="post", **body({"$ref": 3})), "no text"),
    ],
)  # fmt: skip
async def test_what_makes_no_tool(document: Any, told: str):
    """Is told with the operation; nothing is guessed."""
    method = "POST" if "post" in str(document) else "GET"
    with pytest.raises(ToolDefinitionError) as raised:
        async with made(document, operations=[f"{method} /x"]):
            pass
    assert told in str(raised.value)
    assert raised.value.code == ("bad-value" if told == "no JSON schema" else "openapi")


@pytest.mark.parametrize("reference", ["other.json#/x", "https://evil.example/x", "file:///etc/x"])
async def test_a_reference_to_something_else(reference: str):
    """Is an error; nothing is fetched."""
    for document in (
        operation(parameters=[{"$ref": reference}]),
        operation(method="post", **body({"items": {"$ref": reference}})),
    ):
        with pytest.raises(ToolDefinitionError) as raised:
            async with made(
                document, operations=["GET /x" if "get" in str(document) else "POST /x"]
            ):
                pass
        assert raised.value.code == "schema-ref"


async def test_what_is_optional_and_cannot_be_sent_is_left_out():
    """A cookie, an object in a query, a form: the operation is a tool without them."""
    document = operation(
        method="post",
        parameters=[
            {"name": "session", "in": "cookie"},
            {"name": "where", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
            {"name": "n", "in": "query", "schema": {"type": "integer"}},
        ],
        requestBody={"content": {"multipart/form-data": {}}},
    )
    assert list((await parameters_of(document))["properties"]) == ["n"]


@pytest.mark.parametrize(
    ("entry", "path", "code"),
    [
        ({"headers": {"X-A": "{a}"}}, ("headers", "X-A"), "bad-value"),
        ({"effects": {"y": "read"}}, ("effects", "y"), "bad-value"),
        ({"operations": ["GET /x", "get /x"]}, ("operations", 1), "tool-twice"),
        ({"server": "https://{host}.example.com"}, ("operations", 0), "url-host"),
        ({"server": "ftp://x"}, ("operations", 0), "url-host"),
        ({"requires_approval": {"when": {"m": 1}}}, ("requires_approval",), "bad-value"),
    ],
)
async def test_an_entry_that_is_wrong(entry: dict[str, Any], path: Any, code: str):
    """With the place of what is wrong."""
    given = {"operations": ["GET /x"], **entry}
    document = operation(parameters=[{"name": "n", "in": "query"}])
    with pytest.raises(ToolDefinitionError) as raised:
        async with made(document, **given):
            pass
    assert (raised.value.path, raised.value.code) == (path, code)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(
        st.sampled_from(
            ["$ref", "type", "properties", "allOf", "items", "schema", "content", "name", "in",
             "required", "parameters", "requestBody", "application/json", "get", "nullable",
             "enum", "exclusiveMinimum", "operationId", "style", "explode", "/x"]),
        inner | st.sampled_from(["#/paths", "#/", "query", "path", "object", "string", "x"]),
        max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(json_values, json_values)
def test_no_document_does_harm(first: Any, second: Any):
    """It makes tools, or is refused with a reason."""
    document = {"openapi": "3.0.0", "paths": {"/x": {"post": first, "get": second}}}

    async def make() -> None:
        async with made(document, operations=["GET /x", "POST /x"]):
            pass

    with suppress(ToolDefinitionError):
        asyncio.run(make())
