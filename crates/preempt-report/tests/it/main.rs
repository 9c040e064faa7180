//! One trace, many looks: every look at hand-written executions.

mod browser;
mod charts;
mod examples;
mod graphs;
mod machine_readable;
mod page;
mod schema;
mod summary;
mod text_lanes;
