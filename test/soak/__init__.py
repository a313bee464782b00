"""The soak test: random faults of servers and random moments of halting; counts goals at the servers (`scripts/soak`)."""
