"""Documents: what files hold, how it is found, and what agents do with it."""
