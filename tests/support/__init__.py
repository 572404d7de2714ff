"""What tests are played with: crews, a model server, processes, a PostgreSQL server."""
