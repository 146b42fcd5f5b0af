//! A stored graph under its path: one file, or tiers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use cenote::drive::budget;
use cenote::tiers::graph::TieredGraph;
use cenote::tiers::members::{self, Access};
use cenote_device::Device;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::profile::{Profile, ProfileStore};
use cenote_device::wrapper::BudgetDevice;
use cenote_store::superblock::{IdKind, Superblock};
use cenote_store::{Graph, Id, IdRef, Ids, LookupConfig, VertexId, Weight};
use serde::{Serialize, Serializer};

/// The graph that a verb reads.
#[derive(clap::Args, Clone, Debug)]
pub struct GraphArg {
    /// Graph file, made by `cenote import`
    #[arg(value_name = "GRAPH")]
    pub graph: PathBuf,
}

impl GraphArg {
    /// Opens the graph; never writes to it.
    pub fn open(&self) -> Result<Graph> {
        Opening::new(&self.graph, Access::Read, 0)?.open()
    }
}

/// The device of a graph, before the graph on it is read: a file, or several on tiers.
pub struct Opening {
    device: Arc<dyn Device>,
    /// By which requests are planned.
    profile: Profile,
}

impl Opening {
    /// Whoever reads the graph shares the I/O budget of its drive: k_r requests in flight, or
    /// `depth` where that is more.
    pub fn new(path: &Path, access: Access, depth: usize) -> Result<Self> {
        if members::is_map(path) {
            let graph = TieredGraph::open(path, access, depth)?;
            let profile = graph.profile().clone();
            return Ok(Self { device: Arc::new(graph), profile });
        }
        let device = file::open(path, &OpenOptions::reading())?;
        let profile = ProfileStore::of_user()?.find_or_assume(path)?;
        let device = BudgetDevice::new(device, budget(&profile, depth));
        Ok(Self { device: Arc::new(device), profile })
    }

    /// The profile by which requests are planned.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Memory that the device takes beside its queues.
    pub fn memory_bytes(&self) -> usize {
        self.device.memory_bytes()
    }

    /// The device itself.
    pub fn device(self) -> Arc<dyn Device> {
        self.device
    }

    /// Reads superblock and indexes.
    pub fn open(self) -> Result<Graph> {
        Ok(Graph::open(self.device)?)
    }

    /// The same for one who looks up many lists.
    pub fn open_with(self, plan: impl FnOnce(&Superblock) -> LookupConfig) -> Result<Graph> {
        Ok(Graph::open_with(self.device, plan)?)
    }
}

/// The vertex that the user calls `id`; an error that says what ids the graph has if there is none.
pub fn vertex_of(graph: &Graph, ids: &Ids, id: &str) -> Result<VertexId> {
    ids.vertex_of(id)?.with_context(|| {
        let known = match ids.kind() {
            IdKind::Dense => format!("its vertices are 0 to {}", ids.vertices().saturating_sub(1)),
            IdKind::Integers => format!("its {} vertices have integer ids", ids.vertices()),
            IdKind::Strings => format!("its {} vertices have names", ids.vertices()),
        };
        format!("{}: no vertex `{id}`: {known}", graph.device().name())
    })
}

/// A user's id in JSON: a number or a string.
#[derive(Debug)]
pub struct JsonId(pub Id);

impl Serialize for JsonId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonIdRef(self.0.as_ref()).serialize(serializer)
    }
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct JsonIdRef<'a>(pub IdRef<'a>);

impl Serialize for JsonIdRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            IdRef::Integer(integer) => serializer.serialize_u64(integer),
            IdRef::String(string) => serializer.serialize_str(string),
        }
    }
}

/// A weight in JSON: a number.
#[derive(Debug)]
pub struct JsonWeight(pub Weight);

impl Serialize for JsonWeight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Weight::F32(weight) => serializer.serialize_f32(weight),
            Weight::F64(weight) => serializer.serialize_f64(weight),
            Weight::U32(weight) => serializer.serialize_u32(weight),
            Weight::I64(weight) => serializer.serialize_i64(weight),
        }
    }
}
