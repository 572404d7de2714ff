"""What is wrong before a server or a command can begin."""


class SettingsError(Exception):
    """The environment or the command line asks for something that cannot be done."""
