"""The UI stream of Vercel's AI SDK, as its `useChat` reads it (`POST /ai`).

`fold` (events as chunks of the stream), `door` (requests, and streams).
"""
