"""What models cost: `costs` (sums of what was spent), `budgets` (their pots)."""
