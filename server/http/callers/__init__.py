"""Who calls, and what a caller may do.

`guard` (who may call), `authenticator` (tokens that are shown), `session` (the console's login),
`tickets` (for EventSource), `rights` (scopes, and own runs), `pace` (how often, and how many
streams), `auditor` (who did what).
"""
