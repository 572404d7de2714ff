"""Defences that are taken away one by one, and the tests that must go red."""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.crews import ROOT
from tests.support.processes import clean_environment

COPIED = (
    "agents",
    "crew",
    "tools",
    "server",
    "tests",
    "examples",
    "configs",
    "docs",
    "crewline.py",
    "pyproject.toml",
    "README.md",
)
# of one test; where a defence against slowness is gone, it does not end
TEST_SECONDS = 40
FAILED = 1


@dataclass(frozen=True)
class Mutant:
    """A defence that is not there."""

    name: str
    file: str
    old: str
    new: str
    # a file of tests, or one test
    test: str

    def check(self, root: Path = ROOT) -> None:
        """Raises AssertionError where its place has changed."""
        count = (root / self.file).read_text().count(self.old)
        assert count == 1, f"{self.name}: its place in {self.file} stands there {count} times"

    def is_seen(self) -> bool:
        """Whether its test fails on a copy of the code without the defence."""
        self.check()
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            for part in COPIED:
                subprocess.run(["cp", "-r", ROOT / part, copy / part], check=True)
            path = copy / self.file
            path.write_text(path.read_text().replace(self.old, self.new))
            return _run(copy, self.test) == FAILED


def _run(code: Path, test: str) -> int:
    """The exit code of a test on the code of a folder."""
    # the command `crew` finds its packages there, too
    environment = clean_environment(PYTHONPATH=str(code), PYTHONDONTWRITEBYTECODE="1")
    options = ["-x", "-q", "--timeout", str(TEST_SECONDS), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, test]
    return subprocess.run(command, cwd=code, env=environment, capture_output=True).returncode


def own(name: str, file: str, old: str, new: str, test: str) -> Mutant:
    """A mutant whose tests are in `tests/`."""
    return Mutant(name, file, old, new, f"tests/{test}")


MUTANTS = (
    own(
        "strings without an end are looked for again and again",
        "server/http/strict_json.py",
        r"""rb'"(?:[^"\\]++|\\.?+)*+"?+'""",
        r"""rb'"(?:[^"\\]++|\\.)*+"'""",
        "server/test_hostile_texts.py",
    ),
    own(
        "white space over several lines",
        "agents/marks.py",
        r"([^\S\n{BREAKS}]*)",
        r"([^\S\n]*)",
        "server/test_hostile_texts.py",
    ),
    own(
        "keys twice",
        "server/http/strict_json.py",
        'if bare.count(b":") != _count_keys(data):',
        "if False:",
        "end_to_end/test_requests.py",
    ),
    own(
        "any number of keys",
        "server/http/strict_json.py",
        "> MAX_PARTS:\n",
        "> 10**9:\n",
        "end_to_end/test_requests.py",
    ),
    own(
        "bodies of any size",
        "crew/config/crew_file.py",
        "] = 1_000\n",
        "] = 10_240\n",
        "end_to_end/test_requests.py",
    ),
    own(
        "hooks, forks and retries start runs under overload",
        "server/http/overload.py",
        'return scope["method"] == "POST" and POSTS.fullmatch(scope["path"]) is not None',
        "return False",
        "server/http/test_overload.py",
    ),
    own(
        "answers without the policy",
        "server/http/access.py",
        "                for name, value in POLICY.items():\n",
        "                for name, value in ():\n",
        "end_to_end/test_browsers.py",
    ),
    own(
        "refusals below the application without the policy",
        "server/process/protocol.py",
        'more = f"content-length: 0\\r\\nconnection: close\\r\\n{more}{HEADERS}"',
        'more = f"content-length: 0\\r\\nconnection: close\\r\\n{more}"',
        "end_to_end/test_browsers.py",
    ),
    own(
        "a page that is opened starts a run",
        "server/http/guard.py",
        'if path == STREAM and headers.get("sec-fetch-mode") == "navigate":',
        "if False:",
        "end_to_end/test_who_may.py",
    ),
    own(
        "any name is this server's",
        "server/http/guard.py",
        "if not self._is_own_name(host[1], path):",
        "if False:",
        "end_to_end/test_requests.py",
    ),
    own(
        "pages of other sites call the API",
        "server/http/guard.py",
        "if path.startswith(GUARDED) and not self._is_same_site(headers):",
        "if False:",
        "end_to_end/test_requests.py",
    ),
    own(
        "two hosts",
        "server/http/guard.py",
        "if len(hosts) == 1 else None",
        "if hosts else None",
        "end_to_end/test_browsers.py",
    ),
    own(
        "scopes do not count",
        "server/http/rights.py",
        "    if scope not in caller_of(request).scopes:\n",
        "    if False:\n",
        "end_to_end/test_who_may.py",
    ),
    own(
        "runs of other owners",
        "server/http/rights.py",
        "    if not (has_ticket or caller.sees(row.owner)):\n",
        "    if False:\n",
        "end_to_end/test_who_may.py",
    ),
    own(
        "tokens that are over",
        "server/tokens.py",
        "if token is None or token.is_over or not",
        "if token is None or not",
        "end_to_end/test_who_may.py",
    ),
    own(
        "wrong tokens at any pace",
        "server/http/door.py",
        "        if late > 0:\n",
        "        if False:\n",
        "end_to_end/test_who_may.py",
    ),
    own(
        "tickets that nobody signed",
        "server/http/tickets.py",
        "if token is None or not hmac.compare_digest(_sign(token, payload), given):",
        "if token is None:",
        "end_to_end/test_who_may.py",
    ),
    own(
        "tickets that do not end",
        "server/http/tickets.py",
        "if time.time() > until + (RECONNECT_SECONDS if comes_back else 0):",
        "if False:",
        "server/http/test_tickets.py",
    ),
    own(
        "a head takes as long as it takes",
        "server/process/protocol.py",
        "        self._head_bytes = 0\n        self._start_timer(HEAD_SECONDS)\n",
        "        self._head_bytes = 0\n",
        "end_to_end/test_connections.py::test_idle_and_slow_clients_hold_up_nobody",
    ),
    own(
        "a byte keeps a connection",
        "server/process/protocol.py",
        "            self._head_bytes += len(data)\n",
        "            self._head_bytes += len(data)\n            self._start_timer(HEAD_SECONDS)\n",
        "end_to_end/test_connections.py::test_clients_that_drip_hold_up_nobody",
    ),
    own(
        "as many connections as come",
        "server/process/protocol.py",
        "        is_full = self.total > self.most\n",
        "        is_full = False\n",
        "end_to_end/test_connections.py::test_too_many_connections_are_refused",
    ),
    own(
        "few open files are not looked at",
        "server/process/protocol.py",
        "self.most = min(settings.max_connections, room - self.spare)",
        "self.most = settings.max_connections",
        "end_to_end/test_connections.py::test_few_open_files",
    ),
    own(
        "a client that leaves is a mistake of ours",
        "server/http/requests.py",
        "    except ClientDisconnect:\n",
        "    except ZeroDivisionError:\n",
        "end_to_end/test_connections.py::test_a_client_that_leaves_is_no_mistake_of_ours",
    ),
    own(
        "quoted calls are made",
        "agents/turn.py",
        "made = [one.call for one in found if not one.stands_in(lines)]",
        "made = [one.call for one in found]",
        "crew/engine/test_unwanted_calls.py",
    ),
    own(
        "calls within a line are not seen as quoted",
        "agents/text_calls.py",
        '        return self.text in " ".join(lines)\n',
        "        return self.text in lines\n",
        "crew/engine/test_unwanted_calls.py",
    ),
    own(
        "models with native calls make them in their text",
        "agents/turn.py",
        'if found and mode == "auto" and reply.has_native_calls:',
        "if False:",
        "crew/engine/test_unwanted_calls.py",
    ),
    own(
        "marks of who speaks can be forged",
        "agents/history.py",
        '{"role": "user", "content": quote_marks(content)}',
        '{"role": "user", "content": content}',
        "agents/test_marks.py",
    ),
    own(
        "any number of calls in one answer",
        "agents/turn.py",
        "if len(calls) > agent.max_calls:",
        "if False:",
        "crew/engine/test_unwanted_calls.py",
    ),
    own(
        "redirects of a model are followed",
        "agents/providers/openai_chat.py",
        "follow_redirects=False",
        "follow_redirects=True",
        "agents/providers/test_openai_failures.py",
    ),
    own(
        "answers that unpack to any size",
        "agents/providers/openai_chat.py",
        'if coding.lower() not in ("", "identity"):',
        "if False:",
        "agents/providers/test_openai_failures.py",
    ),
    own(
        "words are not masked",
        "crew/engine/masking.py",
        "                await self._emit(_masked(event, self._secrets))\n",
        "                await self._emit(event)\n",
        "end_to_end/test_secrets.py",
    ),
    own(
        "what is asked is not masked",
        "crew/runs/starter.py",
        "query = masked_query(query, crew.secrets)",
        "query = query",
        "end_to_end/test_secrets.py",
    ),
    own(
        "addresses of channels are shown",
        "crew/config/redaction.py",
        r"""(providers|headers|env|notify)\2\s*:""",
        r"""(providers|headers|env)\2\s*:""",
        "crew/config/test_redaction.py",
    ),
    own(
        "runs that everybody reads",
        "crew/database.py",
        "folder.chmod(0o700)",
        "folder.chmod(0o755)",
        "server/cli/test_hostile_files.py",
    ),
    own(
        "texts that command the terminal",
        "server/cli/files.py",
        "print(visible(RENDERERS[form](",
        "print((RENDERERS[form](",
        "server/cli/test_hostile_crew.py",
    ),
    own(
        "JSON that commands the terminal",
        "server/cli/play.py",
        "print(visible_json(event.encoded), flush=True)",
        "print(event.encoded, flush=True)",
        "server/cli/test_hostile_crew.py",
    ),
    own(
        "private addresses are reached",
        "tools/kinds/http/addresses.py",
        "        if not self.holds(address):\n",
        "        if False:\n",
        "tools/kinds/test_http_addresses.py",
    ),
)
