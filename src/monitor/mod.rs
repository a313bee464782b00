//! What shows a run: terminal view, logs, recordings.
