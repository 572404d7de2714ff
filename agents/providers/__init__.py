"""Models of providers: `openai_chat` (and whatever speaks it), `scripted`, and the `catalog` of both."""
