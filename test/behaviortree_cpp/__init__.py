"""Compares random trees at each tick between BehaviorTree.CPP and `navtree trace`."""
