//! Models of graphs, page loads and trace files.

mod models;
mod page_loads;
mod phases;
mod traces;
