//! Runs a frontier over a stored graph, many blocks at once.
//!
//! An algorithm keeps its vertex state in memory, names the active lists ([`ActiveSet`]) and
//! implements a [`Kernel`]; [`Engine::visit`] passes each active list to the kernel once, by the
//! [`Strategy`] of the [`EngineConfig`], within one memory budget ([`MemoryPlan`]).
//!
//! - [`Frontier`], [`ActiveSet`], [`Bitmap`]: sets of vertices, dense and sparse
//! - [`Kernel`]: what an algorithm does with lists, pages and hub neighbours, with or without
//!   weights; [`Assembled`]: for kernels that need complete lists
//! - [`Engine`]: workers, and visits of lists ([`Engine::visit`]), of pages
//!   ([`Engine::visit_pages`]), with weights ([`Engine::visit_weighted`],
//!   [`Engine::visit_weighted_once`], [`Engine::visit_weighted_pages`]), of hub neighbours
//!   ([`Engine::visit_hub_neighbours`]), and without steps
//!   ([`Engine::visit_asynchronously`])
//! - [`Lookup`]: single lists, for serial work ([`Engine::lookup`])
//! - [`StateFile`], [`Blocks`], [`Messages`], [`StateArray`]: vertex state that does not fit in
//!   memory
//! - [`EngineConfig`], [`MemoryPlan`], [`StepRecord`]: configuration, budget, what each step read
//!
//! # An algorithm of your own
//!
//! 1. State its memory: a [`Needs`] with the bytes of its vertex state ([`Frontier::bytes_for`],
//!    [`Bitmap::bytes_for`], 4 or 8 bytes a vertex in a [`HugeVec`]).
//! 2. Make the [`Engine`] for graph, [`EngineConfig`] and needs. It refuses a budget that is too
//!    small, and uses the remainder for reads in flight and cached pages.
//! 3. Write the step as a [`Kernel`]. It is called from many threads, with lists in no fixed order
//!    and long ones in pieces. Shared state is atomic, or belongs to the vertex of the list; counts
//!    go into the kernel's `Local` and are summed at the end. Sums that must not depend on the
//!    order use integers, or stay within one [`Assembled`] list.
//! 4. Call [`Engine::visit`] for the active lists of each step until no list is active. Call
//!    [`Engine::check_cancel`] in long loops of your own.
//!
//! `examples/hops.rs` expands a frontier, `examples/mixing.rs` makes full passes.
//!
//! Sources: the CAVE paper, section 4.2 and Algorithm 1 (`vertex`, `block`); the dissertation's
//! chapter 3 for the planning by asymmetry and concurrency (`auto`).

mod assembled;
mod asynchronous;
mod bands;
mod bitmap;
mod config;
mod engine;
mod error;
mod explain;
mod fetch;
mod frontier;
mod hub_neighbours;
mod kernel;
mod lookup;
mod memory_plan;
mod pages;
mod schedule;
mod serial;
mod tasks;
mod visit;
mod weight_runs;
mod workers;

pub use assembled::Assembled;
pub use asynchronous::{AsynchronousConfig, SPLIT_THRESHOLD};
pub use bands::{
    BlockRef, BlockWriter, Blocks, Messages, STATE_ALIGN_BYTES, SealedState, Sender, StateArray,
    StateFile, StateTotals,
};
pub use bitmap::Bitmap;
pub use cenote_device::memory::prefetch;
#[doc(hidden)]
pub use cenote_device::setters;
pub use cenote_device::{DeviceError, HugeVec};
pub use cenote_store::{
    Adjacency, Change, DiffReport, Direction, EntryOrder, Graph, HubNeighbours, List, Op, Order,
    Page, StoreError, VertexId, Weight, WeightColumn, WeightType, Weights, for_each_change,
};
pub use config::{Cancel, EngineConfig, Strategy, THREADS_MAX};
pub use engine::Engine;
pub use error::{EngineError, Result};
pub use explain::{RunStats, StepRecord};
pub use frontier::{ActiveSet, Frontier, FrontierPart};
pub use kernel::{Kernel, Purpose};
pub use lookup::Lookup;
pub use memory_plan::{MemoryPlan, Needs};
pub use schedule::{DriveCorrection, Schedule};
pub use serial::{for_each_list, for_each_list_of, for_each_weighted_list};
pub use tasks::{NamedPages, PageTask};
pub use visit::{weighted_bytes_for, weighted_pages_bytes_for};
