"""Arguments and entries, described.

`conditions` (of approvals), `schema` (signature to JSON schema, a model's arguments to Python
values), `schema_types` (what a part of one allows), `places` (an argument in the texts of an
entry), `yaml_shape` (the base of all shapes), `described` (models that are documented by their
source), `json_pointer`, `patterns`,
`samples` (arguments made from a schema), `shown` (an output as people are shown it).
"""
