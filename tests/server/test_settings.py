"""What the environment says, and what it cannot mean."""

import pytest

from server.errors import SettingsError
from server.settings import ServerSettings

# of a namespace that has a Service `crew` and one `crew-worker`
SERVICES = {
    "CREW_SERVICE_HOST": "10.0.0.1",
    "CREW_SERVICE_PORT": "8080",
    "CREW_SERVICE_PORT_HTTP": "8080",
    "CREW_PORT": "tcp://10.0.0.1:8080",
    "CREW_PORT_8080_TCP": "tcp://10.0.0.1:8080",
    "CREW_PORT_8080_TCP_PROTO": "tcp",
    "CREW_PORT_8080_TCP_PORT": "8080",
    "CREW_PORT_8080_TCP_ADDR": "10.0.0.1",
    "CREW_WORKER_SERVICE_HOST": "10.0.0.2",
}


def test_variables_of_kubernetes_say_nothing():
    """Each container of a namespace has them, for each Service."""
    settings = ServerSettings.read(SERVICES | {"CREW_LOG_LEVEL": "debug"}, "127.0.0.1", 0)
    assert settings.log_level == "debug"


@pytest.mark.parametrize(
    ("name", "value"), [("CREW_PORT", "8080"), ("CREW_HOST", "x"), ("CREW_LOG_LEVL", "info")]
)
def test_a_variable_that_there_is_not(name: str, value: str):
    """Is an error, with the one that may be meant."""
    with pytest.raises(SettingsError, match=f"unknown environment variable {name}"):
        ServerSettings.read({name: value}, "127.0.0.1", 0)
