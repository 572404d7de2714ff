"""A2A's own client in Python: a task that asks, and is answered."""

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a import types
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from google.protobuf.json_format import MessageToDict, ParseDict


def message(text: str, data: Any = None, **more: str) -> types.SendMessageRequest:
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += [{"data": data}] if data is not None else []
    body = {"messageId": f"m-{text}-{len(more)}", "role": "ROLE_USER", "parts": parts, **more}
    return ParseDict({"message": body}, types.SendMessageRequest())


async def main(url: str, query: str, binding: str) -> None:
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            streaming=True, httpx_client=http, supported_protocol_bindings=[binding]
        )
        client = ClientFactory(config).create(card)
        events = [MessageToDict(one) async for one in client.send_message(message(query))]
        first = last = events[-1]["statusUpdate"]
        if last["status"]["state"] == "TASK_STATE_INPUT_REQUIRED":
            asked = next(one["data"] for one in last["status"]["message"]["parts"] if "data" in one)
            decisions = [
                {"call_id": one["call_id"], "decision": "approve"} for one in asked["calls"]
            ]
            answer = message("", {"decisions": decisions}, taskId=last["taskId"])
            events = [MessageToDict(one) async for one in client.send_message(answer)]
            last = events[-1]["statusUpdate"]
        task = MessageToDict(await client.get_task(types.GetTaskRequest(id=last["taskId"])))
        listed = await client.list_tasks(types.ListTasksRequest(page_size=5))
        try:
            await client.cancel_task(types.CancelTaskRequest(id=last["taskId"]))
            refused = ""
        except Exception as error:  # noqa: BLE001 # its kind is what is looked at
            refused = type(error).__name__
    parts = [part for one in task.get("artifacts", []) for part in one["parts"]]
    document = {
        "text": "".join(part.get("text", "") for part in parts),
        "first": first["status"]["state"],
        "state": task["status"]["state"],
        "listed": MessageToDict(listed)["totalSize"],
        "refused": refused,
    }
    print(json.dumps(document))


asyncio.run(main(*sys.argv[1:4]))
