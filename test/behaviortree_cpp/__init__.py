"""Random trees, ticked by BehaviorTree.CPP itself and by `navtree trace`, and compared tick by tick."""
