"""How words of a command line become the options of a command."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption

# which commands take that work at a server
REMOTE = frozenset({"--server", "--profile"})


def _end_of_options(args: list[str]) -> int:
    return args.index("--") if "--" in args else len(args)


class OnceCommand(TyperCommand):
    """A command that takes a value of an option once, unless it takes several.

    The last one would win silently, also where it says what is deleted.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as click does; ends with a usage error for what is given twice.

        And for the name of a server, where the command works on this machine alone.
        """
        known = {name for one in self.params for name in one.opts}
        options = (one.partition("=")[0] for one in args[: _end_of_options(args)])
        if (remote := next((one for one in options if one in REMOTE - known), None)) is not None:
            ctx.fail(f"crew {ctx.info_name} is local: it takes no {remote}.")
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(given).items():
            takes_one = isinstance(option, TyperOption) and not option.is_flag
            if takes_one and times > 1 and not option.multiple:
                ctx.fail(f"{option.opts[0]} is given {times} times, and takes one value.")
        return super().parse_args(ctx, args)
