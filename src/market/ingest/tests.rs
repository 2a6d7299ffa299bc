//! Whole ingests of small dumps.
