"""What models cost: `costs` (of calls), `budgets` (their pots)."""
