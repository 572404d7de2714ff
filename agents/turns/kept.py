"""Answers that are kept for a while: the same request need not be made again."""

import json
from collections.abc import Hashable, Sequence
from hashlib import blake2b

from agents.agent import Agent
from agents.model import EmitModelEvent, ModelReply, RequestEnded
from agents.turns.request import Prepared
from tools.text.folding import fold


async def answer_or_kept(
    agent: Agent,
    prepared: Prepared,
    user: str,
    emit: EmitModelEvent,
    requests: list[RequestEnded],
) -> ModelReply:
    """Return the model's answer, or an earlier one to the same request.

    Args:
        agent: of the model; its answers are kept.
        prepared: the request.
        user: that the run is for.
        emit: gets what happens.
        requests: gets the request of the earlier answer.

    Raises:
        ModelError: the model failed.
    """
    assert agent.kept is not None, "asked for by the caller"
    known = agent.kept.results.find(_key(agent, prepared, user))
    if known is None:
        return await agent.model.reply(prepared.request, emit)
    content, model, provider = json.loads(known)
    requests.append(RequestEnded(provider, model, "success", 0.0))
    return ModelReply(content, model=model, cached=True)


def keep_answer(
    agent: Agent,
    prepared: Prepared,
    user: str,
    reply: ModelReply,
    requests: Sequence[RequestEnded],
) -> None:
    """Keep a right answer, if the agent's are kept."""
    newest = requests[-1] if requests else None
    is_own = newest is not None and (newest.provider, newest.model) == agent.model.endpoints[0]
    if agent.kept is None or reply.cached or newest is None or not is_own:
        # the answer of a backup is for the time in which it is needed
        return
    text = json.dumps([reply.content, reply.model, newest.provider])
    agent.kept.results.keep(_key(agent, prepared, user), text, agent.kept.seconds)


def _key(agent: Agent, prepared: Prepared, user: str) -> Hashable:
    return answer_key(prepared, user, agent.clock.now().date().isoformat())


def answer_key(prepared: Prepared, user: str, day: str) -> tuple[bytes, str]:
    """Return the same for requests that differ in case and white space of the newest query alone.

    Args:
        prepared: the request.
        user: that the run is for.
        day: on which it is made.
    """
    request = prepared.request
    messages = [
        [one.role, fold(one.content) if place == prepared.query else one.content]
        for place, one in enumerate(request.messages)
    ]
    images = [image.document_id for one in request.messages for image in one.images]
    words = request.output.words if request.output is not None else ""
    sampling = [request.temperature, request.top_p, request.max_tokens]
    parts = [day, messages, words, sampling, *images]
    whole = json.dumps(parts, ensure_ascii=False)
    # the user by itself: what is kept of one may have to go
    return blake2b(whole.encode(errors="surrogatepass"), digest_size=32).digest(), user
