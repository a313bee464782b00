"""The soak: random trials of faults and moments of halting, counted at the servers (`scripts/soak`)."""
