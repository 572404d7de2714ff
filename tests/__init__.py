"""The tests; the folders mirror the floors, `end_to_end` drives the real server, `stage` holds what they share."""
