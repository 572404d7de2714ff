"""`crew test` as people and programs use it: exit codes, JSON, JUnit, GitHub, choices, changes while it watches."""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.support.crews import copy_example
from tests.support.forked import crew
from tests.support.processes import BIN, clean_environment, until
from tests.support.rehearsed import rehearse, repair_crew

GOOD = {"query": "thanks", "expect": {"path": ["desk", "end"], "end": "signal"}}
BAD = {"query": "thanks", "expect": {"path": ["desk", "fixer", "end"]}}


def test_how_it_ends(tmp_path: Path):
    """0 all pass; 1 one fails, or the files have errors; 2 wrong options; 5 nothing was played."""
    folder = repair_crew(tmp_path)
    empty = crew("test", folder)
    assert (empty.returncode, "no rehearsal was played" in empty.stderr) == (5, True)
    rehearse(folder, {"name": "skipped", "skip": "not yet", **GOOD})
    assert crew("test", folder).returncode == 5
    rehearse(folder, {"name": "good", **GOOD})
    good = crew("test", folder)
    assert good.returncode == 0
    assert good.stdout.startswith("1 passed, 0 failed in ")
    assert "never checked: crew.yaml:" in good.stdout
    rehearse(folder, {"name": "good", **GOOD}, {"name": "bad", **BAD})
    bad = crew("test", folder)
    assert bad.returncode == 1
    lines = bad.stdout.splitlines()
    assert lines[0].startswith("✗ tests/a.yaml::bad  ")
    assert lines[1] == "    path  desk → fixer → end"
    assert lines[2].startswith("                 └ end  signal  crew.yaml:")
    assert lines[3] == "          expected at tests/a.yaml:12"
    rehearse(folder, {"name": "wrong", "query": "thanks", "expect": {"path": ["dsek"]}})
    wrong = crew("test", folder)
    assert wrong.returncode == 1
    assert (
        "tests/a.yaml:6:7: error[unknown-agent]: there is no agent or group 'dsek'" in wrong.stderr
    )
    assert "did you mean 'desk'?" in wrong.stderr
    (folder / "crew.yaml").write_text("agents: [nix]\n")
    assert "error[missing-agent]" in crew("test", folder).stderr
    for options in (["--provider", "openai"], ["-k", "("], ["--min-coverage", "roads=1"], ["nix"]):
        assert (
            crew("test", copy_example("hello", tmp_path / options[-1][0]), *options).returncode == 2
        )


def test_which_are_played(tmp_path: Path):
    folder = repair_crew(tmp_path)
    rehearse(folder, {"name": "slow web", "tags": ["web"], **GOOD}, {"name": "slow mail", **BAD})
    (folder / "tests" / "b.yaml").write_text((folder / "tests" / "a.yaml").read_text())

    def chosen(*options: str) -> list[str]:
        out = crew("test", folder, "--json", *options).stdout.splitlines()
        return [json.loads(line)["id"].removeprefix("tests/") for line in out[:-1]]

    every = ["a.yaml::slow web", "a.yaml::slow mail", "b.yaml::slow web", "b.yaml::slow mail"]
    assert chosen() == every
    assert chosen("--failed") == [every[1], every[3]]
    assert chosen("tests/a.yaml") == every[:2]
    assert chosen(str(folder / "tests" / "b.yaml") + "::slow mail") == every[3:]
    assert chosen("slow web") == [every[0], every[2]]
    assert chosen("-k", "web") == [every[0], every[2]]
    assert chosen("-k", "not web and (b.yaml or nothing)") == [every[3]]
    assert chosen("-x") == every[:2]
    assert sorted(chosen("--shuffle", "--seed", "3")) == sorted(every)
    assert chosen("--seed", "3") == chosen("--seed", "3")


def test_programs_read_it(tmp_path: Path):
    folder = repair_crew(tmp_path)
    rehearse(
        folder,
        {"name": "good", **GOOD},
        {"name": "bad", **BAD},
        {"name": "later", "skip": "not yet", **GOOD},
    )
    junit = tmp_path / "junit.xml"
    received = crew("test", folder, "--json", "--junit", junit)
    good, bad, later, last = [json.loads(line) for line in received.stdout.splitlines()]
    assert (good["status"], good["path"], good["virtual_seconds"]) == ("passed", ["desk", "end"], 0)
    assert [one["kind"] for one in bad["problems"]] == ["path"]
    assert bad["problems"][0]["source"] == "tests/a.yaml:12"
    assert (later["status"], later["reason"]) == ("skipped", "not yet")
    assert {key: last["summary"][key] for key in ("passed", "failed", "skipped")} == {
        "passed": 1,
        "failed": 1,
        "skipped": 1,
    }
    assert last["summary"]["coverage"]["routes"] == {"checked": 1, "known": 3}
    (suite,) = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [one.get("name") for one in suite] == ["good", "bad", "later"]
    assert "tests/a.yaml:12: path" in (suite[1][0].text or "")
    shown = crew("test", folder, "--github").stdout
    assert f"::error file={folder}/tests/a.yaml,line=12,title=tests/a.yaml%3A%3Abad::desk" in shown
    assert "%0A" in shown


def test_less_coverage_than_is_wanted_fails(tmp_path: Path):
    folder = repair_crew(tmp_path)
    rehearse(folder, {"name": "good", **GOOD})
    assert crew("test", folder, "--min-coverage", "routes=33").returncode == 0
    less = crew("test", folder, "--min-coverage", "routes=34,people=100")
    assert less.returncode == 1
    assert "coverage of routes is 33 %, less than 34 %" in less.stderr
    assert "coverage of people is 0 %, less than 100 %" in less.stderr


def test_no_secret_is_printed(tmp_path: Path):
    """A value of the rehearsal's environment is a secret of the crew."""
    key = "sk-geheim-0123456789abcdef"
    providers = {"gateway": {"base_url": "http://127.0.0.1:9/v1", "api_key": "${KEY}"}}
    folder = repair_crew(tmp_path, providers=providers)
    rehearse(
        folder,
        {
            "name": "x",
            "env": {"KEY": key},
            "query": f"thanks for {key}",
            "expect": {"answer": "nothing", "asked": {"desk": {"words": "nothing"}}},
        },
    )
    received = crew("test", folder, "--junit", tmp_path / "j.xml", "--github")
    assert received.returncode == 1
    assert key not in received.stdout + received.stderr + (tmp_path / "j.xml").read_text()


def test_a_change_is_played_while_it_watches(tmp_path: Path):
    folder = repair_crew(tmp_path)
    rehearse(folder, {"name": "one", **GOOD})
    out = tmp_path / "out"
    with out.open("w") as file:
        process = subprocess.Popen(
            [BIN / "crew", "test", folder, "--watch"],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=clean_environment(PYTHONUNBUFFERED="1"),
        )
    try:
        until(lambda: out.read_text().count("Waiting for a change") == 1)
        crew_file = yaml.safe_load((folder / "crew.yaml").read_text())
        crew_file["routing"]["signals"]["desk"][1]["target"] = "fixer"
        (folder / "crew.yaml").write_text(yaml.safe_dump(crew_file))
        until(lambda: "1 failed" in out.read_text() or "problem" in out.read_text())
        until(lambda: out.read_text().count("Waiting for a change") == 2)
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize("kind", ["small", "full"])
def test_a_new_crew_comes_with_rehearsals_that_pass(tmp_path: Path, kind: str):
    folder = tmp_path / "crew"
    assert crew("init", folder, *(["--full"] if kind == "full" else ["--yes"])).returncode == 0
    received = crew("test", folder)
    assert received.returncode == 0, received.stdout
    assert (folder / ".crew" / "schemas" / "rehearsal.json").exists()


def test_pins_and_mutants(tmp_path: Path):
    """What models are sent is kept; another prompt is a note, and an error with --strict."""
    folder = repair_crew(tmp_path)
    rehearse(folder, {"name": "good", **GOOD})
    assert "Wrote" in crew("test", folder, "--pin").stderr
    agent = folder / "agents" / "desk.yaml"
    agent.write_text(agent.read_text().replace("You are desk.", "You are the desk."))
    noted = crew("test", folder)
    assert noted.returncode == 0
    assert (
        "note: prompt of desk changed, agents/desk.yaml:5; crew test --pin accepts it"
        in noted.stdout
    )
    assert crew("test", folder, "--strict").returncode == 1
    summary = json.loads(crew("test", folder, "--json").stdout.splitlines()[-1])["summary"]
    assert summary["changed"] == ["prompt of desk changed, agents/desk.yaml:5"]
    mutants = crew("test", folder, "--mutants", "--max", "5", "--json").stdout.splitlines()
    assert json.loads(mutants[-1])["summary"]["mutants"] == 5
    shown = crew("test", folder, "--mutants")
    assert shown.returncode == 1
    assert "survived  tools.yaml:" in shown.stdout
    assert "rehearse a run that reaches it" in shown.stdout


def test_a_folder_without_a_crew(tmp_path: Path):
    for folder in (tmp_path, tmp_path / "none", tmp_path / "crew.yaml"):
        done = crew("test", folder)
        assert (done.returncode, done.stderr) == (
            2,
            f"crew: there is no crew in {folder}: it has no crew.yaml\n",
        )


def test_pins_that_cannot_be_read(tmp_path: Path):
    folder = copy_example("routing", tmp_path)
    (folder / "tests" / "asked.lock").write_bytes(b"\xff")
    done = crew("test", folder)
    assert done.returncode == 1
    assert "tests/asked.lock is no file of pins; crew test --pin writes it" in done.stderr


def test_only_what_a_change_may_meet(tmp_path: Path):
    """By agents, groups, tools and routes on its path; a path that is not known meets all."""
    folder = repair_crew(tmp_path)
    good = {"name": "thanks", **GOOD}
    says = {"desk": ["For Fay. [FIX]"], "fixer": ["Done."]}
    fix = {"name": "fix", "query": "it is broken", "says": says}
    path = {"path": ["desk", {"fixer": "[FIX]"}, "end"]}
    rehearse(
        folder, good, {**fix, "expect": path}, {**fix, "name": "any", "expect": {"end": "terminal"}}
    )
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)

    def played() -> list[str]:
        ended = crew("test", folder, "--changed", "HEAD", "--json")
        lines = [json.loads(one) for one in ended.stdout.splitlines()]
        return [one["id"].rpartition("::")[2] for one in lines if "id" in one]

    assert played() == ["any"]
    agent = folder / "agents" / "fixer.yaml"
    agent.write_text(agent.read_text().replace("You are fixer.", "You mend things."))
    assert played() == ["fix", "any"]
    subprocess.run([*git, "checkout", "-q", "."], check=True)
    crew_file = folder / "crew.yaml"
    crew_file.write_text(crew_file.read_text() + "settings: { max_rounds: 9 }\n")
    assert played() == ["thanks", "fix", "any"]
    subprocess.run([*git, "checkout", "-q", "."], check=True)
    tests = folder / "tests" / "a.yaml"
    tests.write_text(tests.read_text() + "# more\n")
    assert played() == ["thanks", "fix", "any"]
    wrong = crew("test", folder, "--changed", "nowhere")
    assert (wrong.returncode, "is no folder and no git reference" in wrong.stderr) == (2, True)


UPDATED = """# what stays
rehearsals:
  - name: thanks
    query: thanks
    expect:
      path: # in order
        - desk
        - fixer
      answer: Nothing # a comment
  - { name: fix, query: it is broken, says: { desk: ["For Fay. [FIX]"], fixer: [Done.] }, expect: { path: [desk, end], end: terminal } }
"""


def test_what_is_expected_is_written_anew(tmp_path: Path):
    """Paths and answers, in their places; all else in the file stays as it is."""
    folder = repair_crew(tmp_path)
    (folder / "tests").mkdir()
    path = folder / "tests" / "a.yaml"
    path.write_text(UPDATED)
    refused = crew("test", folder, "--update")
    assert (refused.returncode, path.read_text()) == (2, UPDATED)
    ended = crew("test", folder, "--update", "--yes")
    assert ended.returncode == 1
    assert f"Wrote {path}." in ended.stdout
    expected = UPDATED.replace("- desk\n        - fixer", "[desk, end]")
    expected = expected.replace("answer: Nothing", 'answer: "You are welcome. [DONE]"')
    expected = expected.replace("path: [desk, end]", "path: [desk, {fixer: '[FIX]'}, end]")
    assert path.read_text() == expected
    assert crew("test", folder).returncode == 0
    assert "No path and no answer" in crew("test", folder, "--update", "--yes").stdout


def test_the_graph_shows_what_no_rehearsal_takes(tmp_path: Path):
    folder = repair_crew(tmp_path)
    rehearse(folder, {"name": "thanks", **GOOD})
    text = crew("graph", folder, "--coverage").stdout
    assert "├─ [FIX] → fixer  (no rehearsal takes it)" in text
    assert "[DONE] → (end)\n" in text
    data = json.loads(crew("graph", folder, "--coverage", "--format", "json").stdout)
    assert {one["label"]: one.get("taken", True) for one in data["edges"]}["[FIX]"] is False
    assert 'color="#bbbbbb"' in crew("graph", folder, "--coverage", "--format", "dot").stdout
    mermaid = crew("graph", folder, "--coverage", "--format", "mermaid").stdout.splitlines()
    arrows = [one for one in mermaid if "-->" in one or "-.->" in one]
    (grey,) = [one for one in mermaid if "linkStyle" in one]
    numbers = [int(one) for one in grey.split()[1].split(",")]
    assert "[FIX]" in arrows[numbers[0]]
    assert not any("[DONE]" in arrows[one] for one in numbers)
    assert "linkStyle" not in crew("graph", folder, "--format", "mermaid").stdout


def test_rehearsals_are_suggested_for_what_none_checks(tmp_path: Path):
    """Each plays, takes what it is for, and fails until a person has checked it."""
    folder = repair_crew(tmp_path)
    (folder / "script.yaml").unlink()
    made = crew("test", folder, "--suggest")
    path = folder / "tests" / "suggested.yaml"
    assert f"Wrote {path}: 10 rehearsals; " in made.stdout, made
    cases = yaml.safe_load(path.read_text())["rehearsals"]
    assert {one["fails"] for one in cases} == {"check me"}
    assert {one["name"].removeprefix("suggested: ") for one in cases} >= {
        "desk [FIX] → fixer",
        "desk [DONE] → the end",
        "desk waits: answered",
        "restart: denied",
        "restart: its process is killed while it acts",
    }
    unchecked = crew("test", folder)
    assert unchecked.returncode == 1
    assert "it was to fail, and does not: check me; remove fails" in unchecked.stdout
    path.write_text(path.read_text().replace("  fails: check me\n", ""))
    checked = crew("test", folder, "--min-coverage", "routes=100,people=100,limits=100,faults=100")
    assert checked.returncode == 0, checked.stdout
    again = crew("test", folder, "--suggest")
    assert (again.returncode, "Nothing was written." in again.stdout) == (0, True)
