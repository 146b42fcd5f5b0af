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
//! ```
//! use std::sync::Arc;
//!
//! use cenote_engine::{
//!     ActiveSet, Direction, Engine, EngineConfig, Graph, Kernel, List, Needs, Result,
//! };
//!
//! /// Counts the entries of all lists.
//! struct Count;
//!
//! impl Kernel for Count {
//!     type Local = u64;
//!
//!     fn local(&self) -> u64 {
//!         0
//!     }
//!
//!     fn list(&self, entries: &mut u64, list: &List<'_>) {
//!         *entries += list.targets.len() as u64;
//!     }
//! }
//!
//! fn entries(graph: Arc<Graph>) -> Result<u64> {
//!     let needs = Needs { what: "count", state_bytes: 0, scratch_bytes: 0 };
//!     let engine = Engine::new(graph, EngineConfig::with_memory(64 << 20), &needs)?;
//!     let parts = engine.visit("entries", Direction::Out, ActiveSet::All, &Count)?;
//!     Ok(parts.into_iter().sum())
//! }
//! # use cenote_device::backend::sim::{SimConfig, SimDevice};
//! # use cenote_device::model::preset::Preset;
//! # use cenote_store::{Counts, GraphSpec, GraphWriter, IdsSource};
//! # let model = Preset::by_name("p4510").unwrap().model();
//! # let device = Arc::new(SimDevice::new(SimConfig::new(model)));
//! # let spec = GraphSpec {
//! #     page_bytes: 4096,
//! #     vertices: 3,
//! #     directed: true,
//! #     in_edges: false,
//! #     duplicates_kept: false,
//! #     self_loops_kept: false,
//! #     salt: 7,
//! # };
//! # let mut writer = GraphWriter::create(device.clone(), spec).unwrap();
//! # for list in [&[1, 2][..], &[2], &[]] {
//! #     writer.push_list(list).unwrap();
//! # }
//! # let counts = Counts { edges: 3, duplicates: 0, self_loops: 0 };
//! # writer.finish(IdsSource::Dense, counts).unwrap();
//! # let graph = Arc::new(Graph::open(device).unwrap());
//! assert_eq!(entries(graph).unwrap(), 3);
//! ```
//!
//! The crate `cenote` has two examples: `hops` expands a frontier, `mixing` makes full passes.
//!
//! Sources: the CAVE paper, section 4.2 and Algorithm 1 (`vertex`, `block`); the dissertation's
//! chapter 3 for the planning by asymmetry and concurrency (`auto`).

mod ahead;
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
mod read_ahead;
mod schedule;
mod serial;
mod tasks;
mod visit;
mod weight_runs;
mod workers;

pub use ahead::{AHEAD_ENTRIES, CACHED_BYTES, head_of, prefetch_of_many};
pub use assembled::{Assembled, pieces_bytes_max};
pub use asynchronous::{AsynchronousConfig, SPLIT_THRESHOLD};
pub use bands::{
    BlockRef, BlockWriter, Blocks, Messages, Outbox, STATE_ALIGN_BYTES, SealedState, Sender,
    StateArray, StateFile, StateTotals,
};
pub use bitmap::Bitmap;
pub use cenote_device::memory::prefetch;
#[doc(hidden)]
pub use cenote_device::setters;
pub use cenote_device::{DeviceError, HugeVec};
pub use cenote_store::{
    Adjacency, Change, DiffReport, Direction, EntryOrder, Graph, HubNeighbours, List, Op, Order,
    Page, StoreError, VertexId, Weight, WeightColumn, WeightNumber, WeightType, Weights,
    for_each_change, with_numbers,
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
