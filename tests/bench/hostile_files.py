"""Files that were made to be slow or large to read: CPU time and memory of `crew validate` on each, as a process of its own.

Run: python tests/bench/hostile_files.py. Starting the process alone is in every figure.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

AGENT = "id: a\nname: A\nrole: r\nprovider: scripted\nsystem_prompt: x\n"
MIB = 2**20
LETTERS = "abcdefgh"


def group(names: Iterable[str]) -> str:
    """A crew with one group."""
    return f"agents: [a]\nrouting: {{parallel_groups: {{g: {{agents: [{', '.join(names)}]}}}}}}"


def signals(texts: Iterable[str]) -> str:
    """A crew with one agent of these signals."""
    listed = ", ".join(f'{{signal: "{text}"}}' for text in texts)
    return f"agents: [a]\nrouting: {{signals: {{a: [{listed}]}}}}"


HOSTILE = {
    "nothing wrong": "agents: [a]\n",
    "an alias bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(
        f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n"
        for a, b in zip(LETTERS, LETTERS[1:] + "i", strict=True)
    ),
    "a million brackets": "[" * 1_000_000,
    "400,000 values": "agents: [" + "a," * 400_000 + "a]",
    "90,000 keys": "".join(f"k{n}: 1\n" for n in range(90_000)),
    "one key 150,000 times": "k: 1\n" * 150_000,
    "50,000 anchors": "".join(f"k{n}: &a{n} [1]\n" for n in range(50_000)),
    "100,000 aliases": "x: &x [1]\ny: [" + "*x," * 100_000 + "]",
    "80,000 merges": "x: &x {a: 1}\ny:\n" + "  <<: *x\n" * 80_000,
    "40,000 signals": signals(f"[S{n}]" for n in range(40_000)),
    "2,500 long signals": signals("x " * (n % 300) + str(n) for n in range(2_500)),
    "20,000 unknown settings": "agents: [a]\nsettings: {"
    + ", ".join(f"max_round{n}: 1" for n in range(20_000))
    + "}",
    "a member 90,000 times": group("a" for _ in range(90_000)),
    "50,000 allowances": "agents: [a]\n" + "# crew: allow loop\n" * 50_000,
    "a number of 500,000 digits": "agents: [a]\nsettings: {max_rounds: " + "9" * 500_000 + "}",
    "a million blanks": " " * (MIB - 10),
    "a quote that stays open": "'" * (MIB - 1),
}


def main() -> None:
    """Print a line for each."""
    command = [str(Path(sys.executable).parent / "crew"), "validate"]
    for name, text in HOSTILE.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "agents").mkdir()
            (Path(folder) / "agents" / "a.yaml").write_text(AGENT)
            (Path(folder) / "script.yaml").write_text("rules: [{say: x}]\n")
            (Path(folder) / "crew.yaml").write_text(text)
            process = subprocess.Popen(
                [*command, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            assert process.stdout is not None
            said = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            assert b"Traceback" not in said, said
        seconds = used.ru_utime + used.ru_stime
        print(
            f"{name:28} {seconds:5.2f} s  {used.ru_maxrss / 1024:4.0f} MB  exit {os.waitstatus_to_exitcode(status)}"
        )


if __name__ == "__main__":
    main()
