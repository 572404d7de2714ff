"""What browsers load: the pages of the `console`, and the `chat`."""
