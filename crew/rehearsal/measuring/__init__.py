"""Rehearsals are played by real models, each several times: how often does it pass?

`rates` (shares with their intervals), `parting` (where failing plays leave the passing ones),
`plays` (all of them, in threads).
"""
