"""How words of a command line become the options of a command."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption


class OnceCommand(TyperCommand):
    """A command that takes a value of an option once, unless it takes several.

    The last one would win silently, also where it says what is deleted.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as click does; ends with a usage error for what is given twice."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(given).items():
            takes_one = isinstance(option, TyperOption) and not option.is_flag
            if takes_one and times > 1 and not option.multiple:
                ctx.fail(f"{option.opts[0]} is given {times} times, and takes one value.")
        return super().parse_args(ctx, args)
