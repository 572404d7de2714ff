"""Tools that need no entry in tools.yaml.

`system` reads this machine, `network` what it can reach.
"""

from tools.builtin.network import NETWORK_TOOLS
from tools.builtin.system import SYSTEM_TOOLS
from tools.tool import Tool

BUILTIN_TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*SYSTEM_TOOLS, *NETWORK_TOOLS)}

__all__ = ["BUILTIN_TOOLS"]
