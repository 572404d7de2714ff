"""YAML, written as people do."""

from typing import Any

import yaml


def to_yaml(data: Any) -> str:
    """Return as YAML, in the order given; a text of several lines as such."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Return True: what is the same twice is written twice."""
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
