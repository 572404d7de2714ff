"""What has happened in a rehearsal, beside what was to happen.

`story` (a run as steps, calls and pauses), `paths` (an expected path beside the one that was
taken), `calls`, `amounts` (what a run took), `sent` (what models were sent), `kept` (what is
remembered and sent to people), `expectations` (all of them), `invariants`, `verdict`.
"""
