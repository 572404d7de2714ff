"""A language server: what `server.authoring` knows, in the language of editors.

`service` (requests and answers), `language_server` (documents and problems), `saved` (rehearsals
and imports after each save), `served` (runs at a server).
"""
