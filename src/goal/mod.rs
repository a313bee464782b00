//! The life of a goal on an action or service server: pure state machines and the Custodian. No r2r, no tokio, no clock of its own.
