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
    '<TOOLCALL>[{"name": "add", "arguments": {"a": 40}}]</TOOLCALL>',
    '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "add", "parameters": {"a": 40}}]'
    "<|END_ACTION|>",
    'I add.<|action_start|><|plugin|>\n{"name": "add", "parameters": {"a": 40}}<|action_end|>',
    '<longcat_tool_call>{"name": "add", "arguments": {"a": 40}}</longcat_tool_call>',
    '<|tools_prefix|>[{"add": {"a": 40}}]<|tools_suffix|>',
    "<|python_start|>add(a=40)<|python_end|>",
    'Action: ```json\n[{"tool_name": "add", "parameters": {"a": 40}}]\n```',
    'Thought: a sum\nAction:\n```json\n{"action": "add", "action_input": {"a": 40}}\n```',
    'add\n{"a": 40}',
    '>>>add\n{"a": 40}',
    '{"name": "add", "parameters": {"a": 40}}<|eot_id|>',
    # DeepSeek V3.2 and later, with one bar and with two
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="a" string="false">'
    "40</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    '<｜｜DSML｜｜invoke name="add">\n<｜｜DSML｜｜parameter name="a" string="false">40'
    "</｜｜DSML｜｜parameter>\n</｜｜DSML｜｜invoke>",
    # Gemma 4
    "<|tool_call>call:add{a:40}<tool_call|>",
    "I add.<|tool_call>call:add(a: 40)<tool_call|>",
    # GLM 4.7, Hunyuan, MiniMax M3, LM Studio, Groq
    "I add.<tool_call>add<arg_key>a</arg_key><arg_value>40</arg_value></tool_call>",
    "<tool_calls><tool_call>add<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>40</arg_value>\n"
    "</tool_call></tool_calls>",
    'I add.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="add">]<]minimax[>[<a>40]<]minimax[>['
    "</a>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    '[TOOL_REQUEST]\n{"name": "add", "arguments": {"a": 40}}\n[END_TOOL_REQUEST]',
    '<invoke name="add">{"a": 40}</invoke>',
    '<function=add{"a": 40}</function>',
    '<tool_call name="add">{"a": 40}</tool_call>',
    '{"name": "add", "arguments": {"a": 40}}\n</tool_call>',
    '{"function_call": {"name": "add", "arguments": {"a": 40}}}',
    '{"tool_call": {"name": "add", "arguments": "{\\"a\\": 40}"}}',
    'I add. [TOOL_CALLS][{"name": "add", "arguments": {"a": 40}}]',
    '<steptml:invoke name="add"><steptml:parameter name="a">40</steptml:parameter></steptml:invoke>',
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
    'In DSML one writes `<｜DSML｜invoke name="add">` and so on.',
    'Mistral writes [TOOL_CALLS][{"name": "add", "arguments": {"a": 40}}] where it calls a tool.',
    'Mistral writes [TOOL_CALLS]add[ARGS]{"a": 40} where it calls a tool.',
    "A name alone, as in <tool_call>add</tool_call>, is a call without arguments.",
]
