"""A client of a crew's server, for Python programs and for the commands with `--server`.

`client` (asks, answers, follows, and takes up a stream that breaks), `targets` (which server is
meant, and the token for it), `profiles` (servers by name, in a file), `waiting` (between tries),
`answers` (read, or refused), `errors`.
"""
