//! The files of an import of a graph over tiers.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_device::Device;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_import::workspace::{abandoned, partial_prefix};
use cenote_import::{FileWorkspace, ImportError, Workspace};
use cenote_tier::device::header::SetId;
use cenote_tier::device::{SetConfig, TierPart, TieredDevice, TieredError};
use cenote_tier::policy::PolicySpec;

use super::kept::{self, Kept};
use super::members;
use super::spec::{TierArg, member_name, named_files};
use crate::error::Result;
use crate::output::partial::partial_name;

/// The files of a new graph. They appear under their names only when all are complete, the graph
/// file last.
pub struct TieredWorkspace {
    map: FileWorkspace,
    out: PathBuf,
    id: SetId,
    block_bytes: u32,
    policy: PolicySpec,
    tiers: Vec<NewTier>,
    /// Files of the graph that is replaced.
    replaced: Vec<PathBuf>,
    is_published: AtomicBool,
}

/// A tier's new file.
struct NewTier {
    member_name: String,
    path: PathBuf,
    partial: PathBuf,
    capacity_bytes: u64,
}

impl TieredWorkspace {
    /// A workspace for the graph file `out` over `tiers`, in blocks of `block_bytes`.
    pub fn new(
        map: FileWorkspace,
        out: &Path,
        tiers: &[TierArg],
        block_bytes: u32,
        policy: PolicySpec,
    ) -> Result<Self> {
        let id = kept::random_id()?;
        let replaced = files_of_replaced(out)?;
        let new = |tier: &TierArg| NewTier::new(tier, out, &id);
        let tiers = tiers.iter().map(new).collect::<Result<_>>()?;
        let (out, is_published) = (out.to_owned(), AtomicBool::new(false));
        Ok(Self { map, out, id, block_bytes, policy, tiers, replaced, is_published })
    }
}

/// The files of the tiers of a graph that an import replaces, except those of a copied map, which
/// the original graph still uses.
pub fn files_of_replaced(graph: &Path) -> Result<Vec<PathBuf>> {
    let files = members::files_of_replaced(graph)?;
    if files.is_empty() || Kept::owns_tiers(graph) {
        return Ok(files);
    }
    let names: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
    tracing::warn!(
        "{}: is a copy, or {} is lost; another graph may name the files of its tiers, so they \
         stay: {}",
        graph.display(),
        kept::path_of(graph).display(),
        names.join(", ")
    );
    Ok(Vec::new())
}

/// The files of tiers that killed imports of a graph file left behind.
pub fn abandoned_tiers(out: &Path) -> Vec<PathBuf> {
    let folder = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let maps = abandoned(folder, &partial_prefix(out));
    maps.iter().filter(|map| members::is_map(map)).flat_map(|map| tiers_of(map)).collect()
}

/// The tier files of an unfinished map, finished or not.
fn tiers_of(map: &Path) -> Vec<PathBuf> {
    let header = file::open(map, &OpenOptions::reading())
        .ok()
        .and_then(|device| TieredDevice::describe(device.as_ref()).ok());
    let Some(header) = header else { return Vec::new() };
    let mut files = Vec::new();
    for (tier, (_, path)) in named_files(&header).into_iter().enumerate() {
        let folder = path.parent().unwrap_or(Path::new("/"));
        files.extend(abandoned(folder, &partial_prefix(path)));
        if members::is_member(path, &header, tier) {
            files.push(path.to_owned());
        }
    }
    files
}

impl NewTier {
    /// Its file's name contains part of the graph's id, so a replaced graph keeps its files until
    /// the new one is complete.
    fn new(tier: &TierArg, out: &Path, id: &SetId) -> Result<Self> {
        let folder = tier.folder()?;
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{}", tier.name, &kept::hexadecimal(id)[..8]));
        let path = folder.join(name);
        let mut left = OsString::from(".");
        left.push(out.file_name().unwrap_or_default());
        left.push(format!(".{}-", tier.name));
        let left = abandoned(&folder, &left.to_string_lossy());
        left.iter().for_each(|path| drop(fs::remove_file(path)));
        Ok(Self {
            member_name: member_name(&tier.name, &path)?,
            partial: folder.join(partial_name(&path)),
            capacity_bytes: tier.bytes()?,
            path,
        })
    }

    fn part(&self) -> cenote_import::Result<TierPart> {
        let options = OpenOptions::creating();
        Ok(TierPart {
            device: file::open(&self.partial, &options)?,
            name: self.member_name.clone(),
            capacity_bytes: self.capacity_bytes,
        })
    }
}

impl Workspace for TieredWorkspace {
    fn spill(&self) -> cenote_import::Result<Arc<dyn Device>> {
        self.map.spill()
    }

    fn output(&self) -> cenote_import::Result<Arc<dyn Device>> {
        let map = self.map.output()?;
        let parts = self.tiers.iter().map(NewTier::part);
        let parts = parts.collect::<cenote_import::Result<Vec<_>>>()?;
        let config = SetConfig::new(self.id).block_bytes(self.block_bytes);
        let device = TieredDevice::create(map, parts, &config).map_err(|error| match error {
            TieredError::Device(error) => error.into(),
            other => ImportError::Options(other.to_string()),
        })?;
        Ok(Arc::new(device))
    }

    fn publish(&self) -> cenote_import::Result<()> {
        for tier in &self.tiers {
            let failed = |source| ImportError::Output {
                path: tier.path.clone(),
                action: "move the finished tier to this name",
                source,
            };
            fs::rename(&tier.partial, &tier.path).map_err(failed)?;
            file::sync_directory(tier.path.parent().unwrap_or(Path::new("/")))?;
        }
        self.map.publish()?;
        self.is_published.store(true, Ordering::Relaxed);
        if let Err(error) = Kept::of_import(&self.out, &self.id, &self.policy).save() {
            tracing::warn!("{error}: the graph is whole, and has the policy {}", kept::POLICY);
        }
        // The replaced graph no longer exists.
        self.replaced.iter().for_each(|path| drop(fs::remove_file(path)));
        Ok(())
    }
}

impl Drop for TieredWorkspace {
    fn drop(&mut self) {
        if self.is_published.load(Ordering::Relaxed) {
            return;
        }
        for path in self.tiers.iter().flat_map(|tier| [&tier.partial, &tier.path]) {
            // It may not exist.
            let _ = fs::remove_file(path);
        }
    }
}
