"""The variables of the environment that servers, workers and commands read; and what is local."""

PUBLIC_URL = "CREW_PUBLIC_URL"
# names of this machine
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
VARIABLES = {
    "CREW_API_TOKENS": (
        "tokens (16 characters or more, separated by commas) that clients must show; needed on any "
        "address but loopback. One without a name may do everything. NAME:TOKEN may start, answer "
        "and read runs of its own; NAME@PRIORITY+SCOPE:TOKEN says up to which priority (0 to 9; 5 "
        "unless given) and what else: read, run, answer, admin"
    ),
    "CREW_TOKEN": "the token that commands show to a server (`--server`)",
    "CREW_SERVER": "the server that commands go to where they are given no folder",
    "CREW_PROFILE": "the same by its name, which `crew profile add` gives",
    "CREW_TOKEN_FILE": "a file of further tokens, as `crew token new` writes it; it may change",
    "CREW_TRUSTED_PROXIES": (
        "addresses or networks of proxies whose X-Forwarded-For says who the client is, separated "
        "by commas"
    ),
    "CREW_OIDC_ISSUER": "whose OIDC bearer tokens are taken, as they name it in `iss`",
    "CREW_OIDC_AUDIENCE": "for whom they must be: `aud`",
    "CREW_OIDC_KEYS": "the address, or the file, of the issuer's keys (a JWKS document)",
    "CREW_IDENTITY_HEADER": (
        "a header in which the trusted proxies name the user that they have let in"
    ),
    "CREW_IDENTITY_ADMINS": "which of these users may do everything, separated by commas",
    "CREW_DATABASE_URL": (
        "where runs are kept: sqlite:///file.db, postgresql://user@host/database or memory:; "
        "DIR/.crew/crew.db unless set"
    ),
    "CREW_DATABASE_CONNECTIONS": (
        "how many connections to PostgreSQL the runs of each process may have, besides one that "
        "listens and two of the queue; 5 unless set"
    ),
    PUBLIC_URL: (
        "the server's address as people call it, such as https://crew.example.com: for links in "
        "messages of `notify`"
    ),
    "CREW_DOORS": (
        "other protocols that clients may speak, separated by commas: agui, openai, ai, a2a, "
        "mcp; all that are installed unless set, none where it is empty"
    ),
    "CREW_CONVERSATION_HEADERS": (
        "headers in which clients of OpenAI's API name a conversation, separated by commas; "
        "X-Conversation-Id and X-OpenWebUI-Chat-Id unless set"
    ),
    "CREW_OPENAI_THINKING": (
        "false: answers of OpenAI's API do not have what was said and done before them"
    ),
    "CREW_EDIT": (
        "1: the crew's files may be edited over HTTP, unless that lets the server do more than "
        "before; all: those changes, too"
    ),
    "CREW_CORS_ORIGINS": "origins of web pages that may call the API, separated by commas",
    "CREW_ALLOWED_HOSTS": (
        "host names by which the server may be called, separated by commas; on loopback its own"
    ),
    "CREW_MAX_CONNECTIONS": "how many connections clients may have; 10000 unless set",
    "CREW_MAX_CONNECTIONS_PER_ADDRESS": (
        "how many one address may have, unless it is a trusted proxy's; 1000 unless set"
    ),
    "CREW_REQUESTS_PER_MINUTE": (
        "how many requests of one token, and of one address unless it is a trusted proxy's, are "
        "answered in a minute, a sixth of them at once; 60000 unless set"
    ),
    "CREW_MAX_STREAMS_PER_TOKEN": (
        "how many streams of one token may be open in a process; 2000 unless set"
    ),
    "CREW_DRAIN_SECONDS": "how long runs may go on after SIGTERM; 30 unless set",
    "CREW_STALL_SECONDS": (
        "how long a tool may hold up a whole worker before the worker is ended; 30 unless set"
    ),
    "CREW_KEEP_EVENTS_DAYS": "how long the events of an ended run are kept; 30 unless set",
    "CREW_KEEP_EVENTS_HOURS": "the same in hours, as earlier versions read it",
    "CREW_KEEP_EVENTS": "how many of its newest events an ended run keeps; 50000 unless set",
    "CREW_KEEP_RUNS_DAYS": "how long an ended run's result is kept; 30 unless set",
    "CREW_KEEP_AUDIT_DAYS": "how long it is kept who did what; 365 unless set",
    "CREW_MAX_DATABASE_GB": (
        "how large the database may become; then the oldest events and runs are deleted; "
        "10 unless set, 0: no limit"
    ),
    "CREW_BACKUP_FOLDER": "where `crew serve` makes backups of its database file by itself",
    "CREW_BACKUP_HOURS": "how often; 24 unless set",
    "CREW_BACKUP_KEEP": "how many of the newest stay; 7 unless set",
    "CREW_TOOL_FOLDERS": (
        "folders beside the crew's own from which Python files of tools may be loaded, separated "
        "as in PATH"
    ),
    "CREW_LOG_FORMAT": (
        "text or json; text on a terminal and in commands that do not serve, else json"
    ),
    "CREW_LOG_LEVEL": (
        "debug, info, warning or error; info unless set, warning in commands that do not serve"
    ),
}
