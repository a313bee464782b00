"""What the node costs and how fast it reacts, measured from outside (`scripts/measure`)."""
