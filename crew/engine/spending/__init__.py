"""What a run spends: `paying` (what its requests have cost), `budgets` (what bounds that)."""
