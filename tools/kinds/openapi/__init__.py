"""Operations of an OpenAPI document, as entries of the kind http.

`document` (operations and references within it), `schemas` (its schemas as JSON Schema),
`entries` (an operation -> an entry).
"""
