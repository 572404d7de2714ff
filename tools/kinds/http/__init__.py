"""A request to an HTTP API as a tool.

- `tool`: one call: send, follow redirects, read the answer
- `request`: an entry and arguments -> the bytes of a request
- `places`: how an argument is written in a path, a query, a header, a form, a JSON body
- `answer`: a response, bounded -> text
- `connections`: of a crew, one pool for each allowance
- `client`: the HTTP client of a pool
- `addresses`: which hosts and addresses may be connected to
"""
