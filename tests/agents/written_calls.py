"""Calls of `add(a=40)` as models write them into their text, and texts that only speak of one."""

CALLS = [
    '<tool_call>\n{"name": "add", "arguments": {"a": 40}}\n</tool_call>',
    '```json\n{"name": "add", "arguments": {"a": 40}}\n```',
    '{"name": "add", "parameters": {"a": 40}}',
    '[TOOL_CALLS][{"name": "add", "arguments": {"a": 40}}]',
    '<function=add>{"a": 40}</function>',
    "<tool_call>\n<function=add>\n<parameter=a>\n40\n</parameter>\n</function>\n</tool_call>",
    'functions.add({"a": 40})',
    "[add(a=40)]",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 40}\n```'
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "add(a=40)",
    '<｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a": 40}<｜tool▁call▁end｜>',
    '[TOOL_CALLS]add{"a": 40}',
    '[TOOL_CALLS]add[ARGS]{"a": 40}',
    '<|python_tag|>{"name": "add", "parameters": {"a": 40}}',
    "<|tool_call_start|>[add(a=40)]<|tool_call_end|>",
    "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>40</arg_value>\n</tool_call>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>"
    '{"a": 40}<|tool_call_end|><|tool_calls_section_end|>',
    '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 40}<|call|>',
    "```tool_code\nprint(add(a=40))\n```",
    'Thought: a sum\nAction: add\nAction Input: {"a": 40}',
    '<function_calls>\n<invoke name="add">\n<parameter name="a">40</parameter>\n</invoke>\n'
    "</function_calls>",
    'Let me add.\n<tool_call>\n{"name": "add", "arguments": {"a": 40}}\n</tool_call>',
    '<tool_call>\n{"name": "add", "arguments": {"a": 40}}',
    "<tool_call>\n{'name': 'add', 'arguments': {'a': 40}}\n</tool_call>",
    '{"type": "function", "function": {"name": "add", "arguments": "{\\"a\\": 40}"}}',
    '{"tool_calls": [{"name": "add", "arguments": {"a": 40}}]}',
    '{"tool": "add", "tool_input": {"a": 40}}',
    "<start_function_call>call:add{a:40}<end_function_call>",
]
NO_CALLS = [
    'Send {"name": "add", "arguments": {"a": 40}} to the server.',
    '```json\n{"name": "Alice", "arguments": {"age": 40}}\n```',
    'Use `<tool_call>{"name": "add", "arguments": {"a": 40}}</tool_call>` to call it.',
    "You can call add(a=40) for that.",
    'Example:\n```\n<tool_call>\n{"name": "add", "arguments": {"a": 40}}\n</tool_call>\n```\nSo.',
    '> <tool_call>{"name": "add", "arguments": {"a": 40}}</tool_call>',
    '{"name": "add", "age": 3}',
    "[1, 2]",
    "add(a=40) gives 42.",
]
