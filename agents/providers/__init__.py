"""Models of providers.

`catalog` (a model by its configuration), `remote` (one behind an endpoint), `client` (an endpoint
and what is known of it), `connections` (to it), `server_events` (the bytes of an answer), `lessons`
(what a refusal teaches), `message_lessons` (of messages and tools), `messages_refused` (its words
about them), `image_refusals` (that no images are taken), `names` (of parameters in it), `failures`
(of requests), `estimates` (usage that is not said), `embeddings` (texts as vectors), `probe`
(whether it can be used), `scripted` (answers from script.yaml).
"""
