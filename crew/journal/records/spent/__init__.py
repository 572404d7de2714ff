"""What models cost, as a store keeps it: `costs` (of calls), `budgets` (their pots)."""
