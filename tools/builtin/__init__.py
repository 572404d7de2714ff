"""Tools that need no entry in tools.yaml.

`system` reads this machine, `network` what it can reach, `memory` changes what a crew remembers,
`documents` searches and reads what it was given.
"""

from dataclasses import replace

from tools.builtin.documents import DOCUMENT_TOOLS
from tools.builtin.memory import MEMORY_TOOLS
from tools.builtin.network import NETWORK_TOOLS
from tools.builtin.system import SYSTEM_TOOLS
from tools.definition import Reach, Tool

# the programs that some of them start
PROGRAMS = {
    "PingHost": ("ping",),
    "CheckNetworkStatus": ("ping",),
    "CheckServiceStatus": ("systemctl",),
    "GetSystemDiagnostics": ("ping",),
}
BUILTIN_TOOLS: dict[str, Tool] = {
    tool.name: replace(tool, reach=Reach("builtin", runs=PROGRAMS.get(tool.name, ())))
    for tool in (*SYSTEM_TOOLS, *NETWORK_TOOLS, *MEMORY_TOOLS, *DOCUMENT_TOOLS)
}

__all__ = ["BUILTIN_TOOLS"]
