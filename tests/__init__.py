"""The tests; the folders mirror the packages, `end_to_end` drives the real server, `support` has what they share."""
