"""What a request to `/v1/responses` names and says: responses that are kept, items of its input."""

import re
from contextlib import aclosing
from typing import Any

from starlette.requests import Request

from crew.runs.errors import UnknownRun
from server.http.callers.rights import own_run
from server.http.errors import HttpProblem, bad_request
from server.http.services import services_of
from server.protocols.clients import ClientWords, hear
from server.protocols.folds import live_agents, speech_of
from server.protocols.openai.responses_fold import ResponsesFold
from server.protocols.pauses import parse_place

# an answer to an approval, with its run, the number of its pause, and the key of its call there
PlacedReply = tuple[tuple[str, int, str], dict[str, Any]]
ID = re.compile(r"resp_([A-Za-z0-9-]{1,128})_([0-9]{1,15})")
# the answer of a response, which may have several
MESSAGE = re.compile(r"msg_([A-Za-z0-9-]{1,128}_[0-9]{1,15})(?:_[0-9]{1,15})?")
# answers of earlier responses that an input may only name
MAX_NAMED = 100
APPROVAL = re.compile(r"mcpr_([A-Za-z0-9-]{1,128})_([0-9]{1,15})_(.{1,200})", re.DOTALL)


def response_fold(request: Request, run_id: str, model: str) -> ResponsesFold:
    """Return what makes the responses of a run, for the client of a request."""
    crew = services_of(request).runs.crew
    return ResponsesFold(
        run_id,
        model,
        speech_of(crew),
        live_agents(crew),
        thinks=request.app.state.settings.shows_thinking,
        is_open=request.query_params.get("items") == "open",
    )


async def known_response(request: Request, name: Any) -> tuple[str, int]:
    """Return the run and the first event of a response; raises HttpProblem and UnknownRun."""
    found = ID.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise HttpProblem(404, "there is no such response")
    run_id, begun = found[1], int(found[2])
    await own_run(request, run_id)
    records = await services_of(request).runs.store.records(run_id, begun - 1, 1)
    if begun == 1 and (not records or records[0].seq > 1):
        # its first events are no longer kept: it is what the run has come to
        return run_id, begun
    if not records or records[0].seq != begun or '"type":"start"' not in records[0].public[:40]:
        raise UnknownRun(run_id)
    return run_id, begun


async def fold_stored(request: Request, run_id: str, begun: int, fold: ResponsesFold) -> None:
    """Add what is stored of a response now to its fold."""
    async with aclosing(services_of(request).runs.stored(run_id)) as events:
        async for event in events:
            fold.add(event)
            if event.ends_segment and (event.seq or 0) > begun:
                return


async def with_answers(request: Request, given: Any) -> Any:
    """Return an input with the answers that it only names: clients name what the crew has kept."""
    if not isinstance(given, list):
        return given
    names = [_named_answer(item) for item in given]
    responses = dict.fromkeys(name.partition("msg_")[2] for name in names if name)
    known: dict[str, Any] = {}
    # each is a run to be read; the newest tell most
    for name in list(responses)[-MAX_NAMED:]:
        found = MESSAGE.fullmatch(f"msg_{name}")
        if found is not None:
            known |= {one["id"]: one for one in await _output_of(request, found[1])}
    return [known.get(name, item) for name, item in zip(names, given, strict=True)]


def _named_answer(item: Any) -> str:
    """Return the id by which an item names an answer; "" where it names none."""
    if not isinstance(item, dict) or item.get("type") != "item_reference":
        return ""
    name = str(item.get("id"))
    return name if MESSAGE.fullmatch(name) else ""


async def _output_of(request: Request, name: str) -> list[dict[str, Any]]:
    """Return the output of a response; [] of another owner's, or one that is no longer kept."""
    try:
        run_id, begun = await known_response(request, f"resp_{name}")
    except (HttpProblem, UnknownRun):
        return []
    fold = response_fold(request, run_id, services_of(request).runs.crew.name)
    await fold_stored(request, run_id, begun, fold)
    output: list[dict[str, Any]] = fold.document.get("output", [])
    return output


def heard_items(request: Request, given: Any) -> tuple[ClientWords, list[PlacedReply], bool]:
    """Return the messages of an input, its answers to approvals, and if words stand behind them."""
    if isinstance(given, str):
        return ClientWords([("user", given)] if given else []), [], False
    if not isinstance(given, list):
        raise bad_request([("input", "is a text, or a list of items")])
    messages: list[Any] = []
    approvals: list[PlacedReply] = []
    others: list[str] = []
    has_words_behind = False
    for place, item in enumerate(given):
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind == "message":
            messages.append(item)
            has_words_behind = True
        elif kind == "mcp_approval_response":
            approvals.append((_place_of(item), item))
            has_words_behind = False
        elif kind is None:
            raise bad_request([(f"input[{place}]", "must be an item")])
        else:
            # what a client repeats, or claims
            others.append(f"input.{str(kind)[:40]}")
    heard = hear(request, messages, "input")
    heard.ignored += others
    return heard, approvals, has_words_behind


def _place_of(item: dict[str, Any]) -> tuple[str, int, str]:
    """Return what an answer to an approval is about; raises HttpProblem."""
    name = item.get("approval_request_id")
    found = APPROVAL.fullmatch(name) if isinstance(name, str) else None
    place = parse_place(":".join(found.groups())) if found else None
    if place is None or not isinstance(item.get("approve"), bool):
        text = "needs an approval_request_id of a response, and approve"
        raise bad_request([("input.mcp_approval_response", text)])
    return place
