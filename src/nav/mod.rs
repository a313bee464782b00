//! Nav2's node library: one file a node, one skeleton for all. No r2r.
