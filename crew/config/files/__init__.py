"""The files of a crew: `sources` (found and kept), `yaml_reader` and `document` (data with places).

`spacing` (spaces that are missing), `data_files` (OpenAPI documents, mcp.lock.json), `environment`
(`${NAME}`).
"""
