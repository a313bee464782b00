//! A robot on a plane with the servers that trees call.
