"""The files of a crew: `sources` (found and kept), `yaml_reader` and `document` (data with places).

`changes` (values in place of those), `rewriting` (files with such values), `syntax` (what a parser
stops at), `spacing` (spaces that are missing), `data_files` (OpenAPI documents, mcp.lock.json),
`environment` (`${NAME}`),
`redaction` (lines that may hold a secret), `masking` (literal secrets, hidden and put back),
`programs` (files that are used, and no part of a revision), `unread` (names that are nearly right),
`saving` (several files, written as a whole).
"""
