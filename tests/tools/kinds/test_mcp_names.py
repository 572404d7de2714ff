"""Names of tools that an entry allows and denies: those that its server does not have."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.made_tools import tools_of
from tests.support.mcp_servers import raw_server
from tools.errors import ToolDefinitionError

LISTED = "def listed(request):\n    result(request, tools=[TOOL, {**TOOL, 'name': 'pay'}])"


@pytest.mark.parametrize(
    ("more", "path", "hint"),
    [
        ({"deny": ["x*", "apy"]}, ("deny", 1), "did you mean 'pay'?"),
        ({"allow": ["other"]}, ("allow", 0), "it has t, pay"),
    ],
)
async def test_a_name_that_no_tool_has(
    tmp_path: Path, more: dict[str, Any], path: tuple[str, int], hint: str
):
    """What was to be denied would be called; a pattern may be about tools to come."""
    with pytest.raises(ToolDefinitionError, match="the server has no tool") as raised:
        async with tools_of(**raw_server(tmp_path, LISTED), **more, folder=tmp_path):
            pass
    assert (raised.value.path, raised.value.code) == (path, "bad-value")
    assert hint in str(raised.value)


async def test_names_and_patterns(tmp_path: Path):
    more: dict[str, Any] = {"allow": ["t", "p*", "later*"], "deny": ["pay", "x*"]}
    async with tools_of(**raw_server(tmp_path, LISTED), **more, folder=tmp_path) as tools:
        assert list(tools) == ["T_t"]
