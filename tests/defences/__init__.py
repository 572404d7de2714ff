"""Each defence of docs/operations/security.md, broken by a mutant that a test must see."""
