"""An endpoint that is called: its connections, and what is known of its models."""

from agents.dialects.by_name import DIALECTS
from agents.endpoint import Endpoint
from agents.providers.connections import ModelConnections
from agents.quirks import QuirkTables, Table
from tools.clock import Clock
from tools.text.secrets import Secrets


class Client:
    """An endpoint: its connections, and what has been found out about its models."""

    def __init__(
        self, endpoint: Endpoint, clock: Clock, secrets: Secrets, tables: QuirkTables
    ) -> None:
        """Connect to nothing yet.

        Args:
            endpoint: where.
            clock: of timeouts.
            secrets: not repeated in errors; gets the password of a proxy.
            tables: what the process knows of the models of endpoints.
        """
        self.endpoint, self.clock, self.secrets, self.tables = endpoint, clock, secrets, tables
        self.dialect = DIALECTS[endpoint.dialect]
        self.connections = ModelConnections(endpoint, self.dialect, secrets)
        self.place = endpoint.place
        # of the models of this endpoint, by their names
        self.models: dict[str, Table] = {}

    def table(self, model: str) -> Table:
        """Find what is known of a model."""
        if model not in self.models:
            endpoint = self.endpoint
            declared = dict(endpoint.quirks)
            self.models[model] = self.tables.of(
                endpoint.provider, endpoint.base_url, model, declared, endpoint.dialect
            )
        return self.models[model]

    async def aclose(self) -> None:
        """Close the connections."""
        await self.connections.aclose()
