//! A stored graph under its path, for the verbs that only read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use cenote_device::Op;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::profile::{Profile, ProfileStore};
use cenote_device::wrapper::{BudgetDevice, IoBudget};
use cenote_store::superblock::IdKind;
use cenote_store::{Graph, Id, IdRef, Ids, VertexId, Weight};
use serde::{Serialize, Serializer};

/// The size of request whose k_r and k_w are a drive's budget. Larger requests need fewer.
const PAGE_BYTES_USUAL: u64 = 4096;

/// Reads in flight that the budget allows at least: a run corrects its depth by what it meets,
/// which on a shared drive may be more than the k_r of a calm hour.
const READS_MIN: usize = 128;

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
        open(&self.graph)
    }
}

/// Opens a graph for reading.
pub fn open(path: &Path) -> Result<Graph> {
    open_with_budget(path, &ProfileStore::of_user()?.find_or_assume(path)?, 0)
}

/// Opens a graph for reading. Whoever reads it shares the I/O budget of its drive: k_r requests
/// in flight, or `depth` or [`READS_MIN`] where that is more.
pub fn open_with_budget(path: &Path, profile: &Profile, depth: usize) -> Result<Graph> {
    let model = profile.model();
    let reads = model.channels(Op::Read, PAGE_BYTES_USUAL) as usize;
    let writes = model.channels(Op::Write, PAGE_BYTES_USUAL) as usize;
    let device = file::open(path, &OpenOptions::reading())?;
    let budget = IoBudget::new(reads.max(depth).max(READS_MIN), writes);
    Ok(Graph::open(Arc::new(BudgetDevice::new(device, budget)))?)
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
        match self.0.as_ref() {
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

/// What the user calls the vertices of a list, which ascends; the ids ascend, too.
pub fn ids_of_list(ids: &Ids, list: &[VertexId]) -> Result<Vec<Id>> {
    if !ids.is_natural() {
        let mut named = list
            .iter()
            .map(|&vertex| Ok((ids.rank_of(vertex)?, ids.id_of(vertex)?)))
            .collect::<Result<Vec<_>>>()?;
        named.sort_unstable_by_key(|(rank, _)| *rank);
        return Ok(named.into_iter().map(|(_, id)| id).collect());
    }
    let (Some(&first), Some(&last)) = (list.first(), list.last()) else { return Ok(Vec::new()) };
    // One pass over the ids in between beats a look-up for each, unless the list is thin.
    if u64::from(last - first) / 64 > list.len() as u64 {
        return list.iter().map(|&vertex| Ok(ids.id_of(vertex)?)).collect();
    }
    let mut found = Vec::with_capacity(list.len());
    ids.for_each(first..last.saturating_add(1), |vertex, id| {
        while list.get(found.len()) == Some(&vertex) {
            found.push(id.to_id());
        }
        anyhow::Ok(())
    })?;
    Ok(found)
}
