"""What runs publish, and who listens.

`written` (texts that are being written), `tail` (the newest events of a run), `live` (the registry
of runs), `remote` (runs of other processes), `reader` (what runs publish), `listeners` (who
listens).
"""
