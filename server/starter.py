"""What `crew init` writes: a small crew that plays at once, without a key and without a network."""

FILES = {
    "crew.yaml": """\
# yaml-language-server: $schema=.crew/schemas/crew.json
version: "1.0"
name: my-crew

agents:
  - greeter
  - expert

routing:
  signals:
    greeter:
      - signal: "[EXPERT]"
        target: expert
        description: the question needs a closer look
      - signal: "[DONE]"
        target: # empty: the run ends
        description: the question is answered
""",
    "agents/greeter.yaml": """\
# yaml-language-server: $schema=../.crew/schemas/agent.json
id: greeter
name: Gwen
role: first contact
provider: scripted # openai for a real model, with OPENAI_API_KEY set

system_prompt: |
  You are {{name}}, {{role}}. Answer simple questions yourself and end with [DONE].
  Pass everything else on, and end with [EXPERT].
""",
    "agents/expert.yaml": """\
# yaml-language-server: $schema=../.crew/schemas/agent.json
id: expert
name: Eve
role: expert for this machine
provider: scripted
is_terminal: true
tools:
  - GetSystemInfo

system_prompt: |
  You are {{name}}, {{role}}. Look at the machine before you answer.
""",
    "script.yaml": """\
# yaml-language-server: $schema=.crew/schemas/script.json
# What the scripted provider answers. The first rule that fits speaks.
rules:
  - agent: greeter
    hears: hello
    say: Hello! What can I do for you? [DONE]
  - agent: greeter
    say: That is one for Eve. [EXPERT]
  - agent: expert
    after: [GetSystemInfo]
    say: |
      I have looked:
      {{result.GetSystemInfo}}
  - agent: expert
    say: Let me look at the machine.
    calls: [GetSystemInfo]
""",
    ".gitignore": ".crew/*.db*\n.crew/*.lock\n",
}
