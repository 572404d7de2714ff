"""An OpenAPI document that the command line is given, and the tools that it comes to."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from crew.config.files.data_files import read_data
from tools.config import HttpTool, OpenApiTool
from tools.errors import ToolDefinitionError
from tools.kinds.openapi.document import ApiDocument
from tools.kinds.openapi.entries import entries


@dataclass(frozen=True, slots=True)
class ApiFile:
    """A document that was read."""

    # without folders, as an entry names it
    name: str
    text: str
    data: Any
    # as `operations` of an entry names them
    operations: list[str]

    @classmethod
    def read(cls, file: Path) -> "ApiFile":
        """Read a file.

        Raises:
            ToolDefinitionError: it is no OpenAPI document that can be read.
        """
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ToolDefinitionError(f"{file} cannot be read: {error.strerror}") from None
        read = read_data(file.name, content)
        for problem in read.problems:
            raise ToolDefinitionError(f"{file}:{problem.line}: {problem.message}")
        operations = [one.id or one.place for one in ApiDocument(read.data).operations]
        return cls(file.name, read.text, read.data, operations)

    def tools(
        self, operations: list[str], server: str, prefix: str
    ) -> Iterator[tuple[str, tuple[str, HttpTool] | ToolDefinitionError]]:
        """Yield each operation with its tool's name and entry, or why it makes none.

        Raises:
            ToolDefinitionError: server or prefix is none.
        """
        shared = self._config(server, prefix)
        for operation in operations:
            try:
                config = shared.model_copy(update={"operations": [operation]})
                (made,) = entries("", config, self.data).items()
                yield operation, made
            except ToolDefinitionError as error:
                yield operation, error

    def _config(self, server: str, prefix: str) -> OpenApiTool:
        entry = {"kind": "openapi", "document": self.name, "server": server, "prefix": prefix}
        try:
            return OpenApiTool.model_validate({**entry, "operations": ["-"]})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ToolDefinitionError(f"{where}: {first['msg']}") from None
