"""The words by which endpoints say what of messages and calls they do not take."""

import re

from agents.providers.names import REFUSED

ALTERNATE = re.compile(
    r"alternat|consecutive (?:\w+ ){0,3}(?:messages?|roles?|turns?|user|assistant)"
    r"|(?:messages?|roles?|turns?)[^.]{0,60}in a row"
    r"|(?:first|start(?:s|ing)?|begin(?:s|ning)?)[^.]{0,60}(?:role|message)?[^.]{0,30}['\"]?user['\"]?"
    r"[^.]{0,40}(?:message|role|turn)"
    r"|(?:first|initial) (?:non-system )?message[^.]{0,40}user"
    r"|expected (?:the )?(?:last )?role (?:user|assistant|tool)[^.]{0,60}(?:but|got)"
    r"|unexpected role '?(?:user|assistant)'? after role"
    # DeepSeek, and models that do not go on with words of their own
    r"|successive (?:user|assistant)|interleave the|message with odd index|messages must be an odd"
    r"|(?:end|last)\b[^.\n]{0,20} (?:with|be) a user message"
    r"|assistant (?:message|response) prefill",
    re.IGNORECASE,
)
NO_SYSTEM = re.compile(
    r"\b(?:system|developer)\b['\"`]?\s*(?:roles?|messages?|prompts?|instructions?)?\b[^.\n]{0,60}?"
    rf"(?:{REFUSED}|not valid|invalid|is not one of|not enabled)"
    rf"|\broles?\b[^.\n]{{0,40}}?(?:{REFUSED}|not valid|invalid|got|but)[^.\n]{{0,40}}\bsystem\b"
    r"|only\b[^.\n]{0,60}\broles?\b[^.\n]{0,60}\b(?:supported|allowed|accepted)\b"
    r"|\brole\b[^\n]{0,60}(?:should|must) be (?:one of )?\W{0,3}user\W{1,8}(?:or |and )?"
    r"\W{0,2}assistant"
    r"|unexpected role '?system|got system"
    # Bedrock says "This model doesn't support system messages"
    r"|(?:not|n't) support (?:\w+ ){0,2}(?:system|developer)"
    r" (?:messages?|roles?|prompts?|instruct)",
    re.IGNORECASE,
)
NO_CONTENT = re.compile(
    r"content\b.{0,200}?(?:valid string|string_type|a string|be string|null|none|required|missing"
    r"|nonetype|empty|blank)|(?:null|none|nonetype|missing|empty|blank)\b.{0,80}?\bcontent\b",
    re.IGNORECASE | re.DOTALL,
)
EMPTY_IS_WRONG = re.compile(
    r"non-?empty|(?:not|n't|never) be (?:an )?(?:empty|blank)|is (?:empty|blank)|at least 1 char"
    r"|empty (?:text|string|content)|min_length|too_short",
    re.IGNORECASE,
)
ONE_CALL = re.compile(
    r"(?:single|one) tool[- ]?call|(?:parallel|multiple|several) (?:tool|function)[- _]?calls?"
    r"|tool[- ]?calls? (?:one )?at (?:once|a time)|only one (?:tool|function)[- ]?call",
    re.IGNORECASE,
)
# Mistral says "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9", OpenAI of the id
# of a message's tool call "string too long. Expected a string with maximum length 40"
CALL_ID = re.compile(
    r"(?:tool[_ -]?calls?[_ .\]\[\d]*id|tool_?use[_ .]?id|\bcall[_ ]id)s?\b[^\n]{0,160}?"
    r"(?:must be|must match|match (?:the )?pattern|too long|length|characters?\b|alphanumeric"
    r"|must satisfy regular expression)",
    re.IGNORECASE,
)
# the layer before Gemini names its own `function_response.name`, pydantic the place of the message
NAME_OF_RESULT = re.compile(
    r"function_?response\W{1,2}name\b"
    r"|messages?\W{1,2}\d+\W{1,2}tool\w*\W{1,2}name\b\W{1,3}(?:field |is )?(?:required|missing)"
    r"|tool messages? (?:must|require|need)s?\b[^\n]{0,20}\bname\b",
    re.IGNORECASE,
)
# Ollama says "does not support tools", OpenRouter "No endpoints found that support tool use", vLLM
# "requires --enable-auto-tool-choice"
NO_CALLS = re.compile(
    r"enable-auto-tool-choice"
    r"|(?:not|n't|no\b[^.]{0,60}|un)\s?-?support\w*[^.]{0,60}\b(?:tools?|functions?)\b"
    r"|\b(?:tools?|functions?)\b(?:[ _-]?(?:use|call\w*|choice))?[^.]{0,60}?"
    rf"(?:{REFUSED}|require)"
    r"|(?:unknown|unrecogni[sz]ed|unexpected|extra inputs?|not permitted)[^.]{0,60}\btools?\b",
    re.IGNORECASE,
)
# of a schema of a tool, of a call that the model has written wrongly, of the order of messages, or
# of how much it may think beside tools: such words are no sign that it has no calls
ABOUT_ONE_CALL = re.compile(
    r"schema|function ['\"`]|function_declarations|\btools?(?:\[\d+\]|\.\d+)"
    r"|(?:pars\w*|failed to call|malformed|unexpected end)\b[^\n]{0,60}"
    r"\b(?:tool|function)[ _]?calls?\b|unexpected end of json|unexpected role '?tool'? after"
    r"|tools=['\"`]? param|with reasoning_effort",
    re.IGNORECASE,
)
# Google, of what its schemas are not: fields beside any_of, objects without properties, enums of
# numbers, lists of types
FEW_FORMS = re.compile(
    r"any_of, it must be the only field|should be non-empty for OBJECT type"
    r"|enum: only allowed for STRING|Proto field is not repeating",
    re.IGNORECASE,
)
