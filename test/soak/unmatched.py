"""What a lane cannot go on after."""


class Unmatched(Exception):
    """Two processes that are there do not find each other. The middleware keeps its ports in shared memory, and one that
    is killed while it writes there can leave a port dead that its successor is given; with a discovery range of LOCALHOST
    it takes no other transport."""
