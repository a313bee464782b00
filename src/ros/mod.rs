//! The only room that knows r2r.
