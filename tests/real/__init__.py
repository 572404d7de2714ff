"""What others wrote: MCP servers, the conformance suite, a real model, a gateway."""
