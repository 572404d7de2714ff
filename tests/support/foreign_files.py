"""Files of other programs, in the shapes of their public documentation."""

AGENTS = """\
researcher:
  role: >
    Researcher of {topic}
  goal: Find what is new
  backstory: You know where to look.
  llm: groq/llama-3.3-70b
  tools: [SerperDevTool]
  verbose: true
writer:
  role: Writer
  goal: Write it down
idle:
  role: Nobody
  goal: none
"""
TASKS = """\
look:
  description: Look for {topic}.
  expected_output: A list
  agent: researcher
review:
  description: Check it.
  expected_output: A better list
  agent: researcher
  human_input: true
  async_execution: true
tell:
  description: Write a report.
  expected_output: Markdown
  agent: writer
  context: [look, review]
  output_file: report.md
"""
TEAM = """\
#!/usr/bin/env cagent run
version: "2"
models:
  fast: { provider: openai, model: llama-3.3, base_url: https://api.groq.com/openai/v1, token_key: GROQ_API_KEY, temperature: 0.4, thinking_budget: 3 }
agents:
  root:
    model: fast
    description: leads
    instruction: |
      Lead the team with ${care}.
      Use {{braces}}.
    sub_agents: [designer, nobody]
    handoffs: [closer]
    add_date: true
    toolsets:
      - { type: shell }
      - { type: mcp, ref: "docker:kubernetes" }
      - { type: mcp, command: no-such-program-here }
  designer: { model: anthropic/claude-sonnet-4-0, description: draws, instruction: Draw. }
  closer: { model: auto, description: closes, instruction: Close. }
"""
WORKFLOW = """\
workflow:
  name: research
  description: Looks things up
  entry_point: both
  input: { topic: { type: string } }
  runtime: { provider: copilot, default_model: gpt-5.2, temperature: 0.1 }
  limits: { max_iterations: 15, timeout_seconds: 600 }
parallel:
  - name: both
    agents: [left, right]
    failure_mode: fail_fast
    routes: [{ to: build }]
for_each:
  - { name: each, source: x, agent: left, routes: [{ to: $end }] }
agents:
  - { name: left, prompt: Look left. }
  - { name: right, prompt: Look right. }
  - { name: build, type: script, command: make, routes: [{ to: writer }] }
  - name: writer
    description: writes
    input: [left.output]
    prompt: |
      Write about {{ workflow.input.topic }}.
      {% for one in left.output.findings %}
      - {{ one }}
      {% endfor %}
    output: { report: { type: string, description: all of it } }
    routes:
      - { to: gate, when: "{{ output.ready }}" }
      - { to: writer, when: "context.iteration < 3" }
      - { to: $end }
  - name: gate
    type: human_gate
    prompt: Is it good?
    options:
      - { label: Good, value: approved, route: $end }
      - { label: Again, value: changes, route: writer }
output: { report: "{{ writer.output.report }}" }
"""
CLIENT = """\
{
  // servers of a desktop client
  "mcpServers": {
\t"notes": %s,
    "far": { "type": "http", "url": "http://localhost:9/mcp", "headers": { "Authorization": "Bearer sk-1" } },
    "off": { "command": "x", "disabled": true },
    "empty": {},
  }, /* and
  more */
  "theme": "dark", // "mcpServers": {}
}
"""
