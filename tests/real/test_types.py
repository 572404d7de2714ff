"""The types that `openapi-typescript` makes of the API: the smallest requests compile, strictly."""

import json
import subprocess
from pathlib import Path
from typing import Any

from server.http.openapi.document import openapi_document
from tests.real.installed import HOME, NODE_PROGRAMS, needs_real

pytestmark = needs_real
# as a front-end developer writes them
LINES = """
const a: S["StartBody"] = {query: "hi"};
const b: S["QueryBody"] = {query: "hi"};
const b2: S["QueryBody"] = {run_id: "x", decision: "deny"};
const c: S["AnswerBody"] = {decision: "approve"};
const d: S["TicketBody"] = {};
const e: S["ConversationBody"] = {};
const f: S["CallDecisionBody"] = {call_id: "c", decision: "deny"};
type Query<P extends keyof paths> = NonNullable<
  paths[P] extends {get: {parameters: {query?: infer Q}}} ? Q : never>;
const g: Query<"/api/crew/runs"> = {limit: 10};
const h: Query<"/api/crew/stream"> = {q: "hi", deltas: true};
const i: Query<"/api/crew/stream"> = {run_id: "x"};
const j: S["AddressAnswer"]["run_id"] = "x";
// @ts-expect-error: always there in an answer
const k: S["AddressAnswer"] = {};
// @ts-expect-error: unknown
const l: S["StartBody"] = {query: "hi", quary: "x"};
"""


def smallest(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """A value with what a schema requires, and nothing else."""
    if "$ref" in schema:
        return smallest(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return smallest(schema["anyOf"][0], schemas)
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {key: smallest(properties[key], schemas) for key in schema.get("required", ())}
        case "array":
            return []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return "x"


def requests() -> list[str]:
    """One of each operation that takes a body, as TypeScript."""
    document = openapi_document()
    schemas: dict[str, Any] = document["components"]["schemas"]
    lines: list[str] = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content:
                # nothing, or the bytes of a file
                continue
            schema = content["application/json"]["schema"]
            body = json.dumps(smallest(schema, schemas))
            kind = f'paths["{path}"]["{method}"]["requestBody"]["content"]["application/json"]'
            lines.append(f"const _{len(lines)}: {kind} = {body};")
    assert len(lines) > 8
    return lines


def test_the_smallest_requests_compile(tmp_path: Path):
    """As the server takes them."""
    (tmp_path / "o.json").write_text(json.dumps(openapi_document()))
    made = subprocess.run(
        [NODE_PROGRAMS / "openapi-typescript", "o.json", "-o", "api.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    head = 'import type { components, paths } from "./api";\ntype S = components["schemas"];\n'
    text = "\n".join([head, LINES, *requests(), "export {};"])
    (tmp_path / "use.ts").write_text(text)
    options = ["--strict", "--noEmit", "--target", "es2022", "--moduleResolution", "bundler"]
    compiled = subprocess.run(
        [NODE_PROGRAMS / "tsc", *options, "--module", "esnext", "use.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert compiled.returncode == 0, compiled.stdout
    assert HOME.exists()
