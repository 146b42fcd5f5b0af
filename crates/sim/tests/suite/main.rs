//! The whole system on simulated devices.

mod faults;
mod fuzzers;
mod house;
mod log;
mod updates;
