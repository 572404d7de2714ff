"""A language server: what `server.authoring` knows, in the language of editors: `service`."""
