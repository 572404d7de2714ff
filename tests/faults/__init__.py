"""Nothing is lost: the server is killed at named points, over and over, and every history is checked."""
