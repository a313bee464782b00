//! The messages that trees carry, as plain structs.
