"""Models of providers: `openai_chat` (and whatever speaks it), `scripted`.

And the `catalog` of both.
"""
