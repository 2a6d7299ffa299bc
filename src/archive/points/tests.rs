//! An archive in a folder: what is kept, what is told apart, what survives.
