//! The searches, one file each.

pub mod nested;
