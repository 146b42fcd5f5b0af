//! The saved state of a policy: `GRAPH.policy`.
//!
//! A line of JSON with the graph, the policy and totals, followed by the state from
//! [`Worker::stop`](cenote_tier::device::Worker::stop), which has its own checksum. If the file is
//! lost, the policy starts without state, with a warning.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cenote_device::small_file;
use cenote_tier::device::WorkerReport;
use cenote_tier::device::header::SetId;
use cenote_tier::policy::PolicySpec;
use serde::{Deserialize, Serialize};

use super::members;
use crate::error::{Error, Result};
use crate::output::partial::PartialFile;

/// The default policy.
pub const POLICY: &str = "payback";

const FORMAT: u32 = 1;

/// The most bytes of the first line.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// The policy of a graph and its saved state.
#[derive(Clone, Debug)]
pub struct Kept {
    path: PathBuf,
    about: About,
    /// The policy's state; none before the first run.
    pub state: Option<Vec<u8>>,
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct About {
    format: u32,
    /// The id of the graph's set of tiers.
    graph: String,
    policy: String,
    /// Identity of the map file that the import made: a copy of it does not own the tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    map: Option<String>,
    #[serde(flatten)]
    done: Done,
}

impl From<WorkerReport> for Done {
    fn from(report: WorkerReport) -> Self {
        let WorkerReport { accesses, moved, dropped, failed, .. } = report;
        Self { accesses, moved, dropped, failed }
    }
}

/// Totals of migration: in one run, or since the graph was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Accesses reported to the policy.
    pub accesses: u64,
    /// Blocks moved.
    pub moved: u64,
    /// Moves cancelled, because the block was written meanwhile or there was no space.
    pub dropped: u64,
    /// Moves that failed with a device error.
    pub failed: u64,
}

/// Parses the name of a policy; refuses those that only replays can use.
pub fn policy(name: &str) -> Result<PolicySpec, String> {
    let spec: PolicySpec = name.parse().map_err(|e: cenote_tier::TierError| e.to_string())?;
    if spec.wants_oracle() {
        return Err(format!("{name} knows the future: it can be replayed only"));
    }
    Ok(spec)
}

impl Kept {
    /// The initial state for a graph.
    pub fn new(graph: &Path, id: &SetId, policy: &PolicySpec) -> Self {
        let about = About {
            format: FORMAT,
            graph: hexadecimal(id),
            policy: policy.name().to_owned(),
            map: None,
            done: Done::default(),
        };
        Self { path: path_of(graph), about, state: None }
    }

    /// The initial state for an imported graph, whose map file owns the tiers.
    pub fn of_import(graph: &Path, id: &SetId, policy: &PolicySpec) -> Self {
        let mut new = Self::new(graph, id, policy);
        new.about.map = identity(graph);
        new
    }

    /// Whether the map file `graph` is the one that its import made, not a copy.
    pub fn owns_tiers(graph: &Path) -> bool {
        let Ok(file) = small_file::open(&path_of(graph)) else { return false };
        let mut line = Vec::new();
        let read = BufReader::new(file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let about = read.ok().and_then(|_| serde_json::from_slice::<About>(&line).ok());
        about.is_some_and(|about| about.map.is_some() && about.map == identity(graph))
    }

    /// The saved state for a graph. If it cannot be used, warns and starts without state.
    pub fn find(graph: &Path, id: &SetId) -> Result<Self> {
        let new = Self::new(graph, id, &policy(POLICY).map_err(Error::InvalidInput)?);
        match new.read() {
            Ok(kept) => Ok(kept),
            Err(reason) => {
                tracing::warn!(
                    "{}: {reason}: what was learned of the graph is lost; {POLICY} begins anew",
                    new.path.display()
                );
                Ok(new)
            }
        }
    }

    fn read(&self) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let mut file = BufReader::new(small_file::open(&self.path).map_err(text)?);
        let mut line = Vec::new();
        (&mut file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(text)?;
        // The state, which may be long, is read only after the line was checked.
        let mut kept = self.parse(&line)?;
        let mut state = Vec::new();
        file.read_to_end(&mut state).map_err(text)?;
        kept.state = (!state.is_empty()).then_some(state);
        Ok(kept)
    }

    /// Parses the first line.
    fn parse(&self, line: &[u8]) -> Result<Self, String> {
        let line = line.strip_suffix(b"\n").ok_or("it is damaged")?;
        let about: About = serde_json::from_slice(line).map_err(|_| "it is damaged".to_owned())?;
        if about.format != FORMAT {
            return Err(format!("it is of format {}, this program knows {FORMAT}", about.format));
        }
        if about.graph != self.about.graph {
            return Err("it is another graph's".to_owned());
        }
        policy(&about.policy)?;
        Ok(Self { path: self.path.clone(), about, state: None })
    }

    /// The policy.
    pub fn policy(&self) -> PolicySpec {
        policy(&self.about.policy).expect("it was parsed when it was kept")
    }

    /// Changes the policy; a different one starts without state.
    pub fn change_policy(&mut self, policy: &PolicySpec) {
        if self.about.policy != policy.name() {
            policy.name().clone_into(&mut self.about.policy);
            self.state = None;
        }
    }

    /// Totals so far.
    pub fn done(&self) -> Done {
        self.about.done
    }

    /// Adds the totals of a run.
    pub fn add(&mut self, done: Done) {
        let all = &mut self.about.done;
        all.accesses += done.accesses;
        all.moved += done.moved;
        all.dropped += done.dropped;
        all.failed += done.failed;
    }

    /// Replaces the file atomically.
    pub fn save(&self) -> Result<()> {
        let cannot = || Error::io(format!("cannot write {}", self.path.display()));
        let mut file = PartialFile::create(&self.path)?;
        let mut line = serde_json::to_vec(&self.about).map_err(|error| cannot()(error.into()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(cannot())?;
        file.write_all(self.state.as_deref().unwrap_or_default()).map_err(cannot())?;
        file.finish()?;
        Ok(())
    }
}

/// The inode number and birth time of a file; a copy of the file has others.
fn identity(path: &Path) -> Option<String> {
    let file = path.metadata().ok()?;
    let made = file.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some(format!("{}-{}", file.ino(), made.map_or(0, |time| time.as_nanos())))
}

/// The path of the policy's file, beside the graph itself if `graph` is a link.
pub fn path_of(graph: &Path) -> PathBuf {
    let mut name = members::behind_link(graph).into_os_string();
    name.push(".policy");
    name.into()
}

/// An id in hexadecimal.
pub fn hexadecimal(id: &SetId) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A random id.
pub fn random_id() -> Result<SetId> {
    let mut id = SetId::default();
    let found = rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty());
    let cannot = Error::io("cannot get random numbers");
    match found {
        Ok(found) if found == id.len() => Ok(id),
        Ok(_) => Err(cannot(std::io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(cannot(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_damage_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let graph = folder.path().join("g.cenote");
        let id = [7; 16];
        let mut kept = Kept::new(&graph, &id, &policy("tlru").unwrap());
        kept.state = Some(vec![1, b'\n', 3]);
        let report = WorkerReport { accesses: 5, moved: 2, ..WorkerReport::default() };
        kept.add(report.into());
        kept.add(report.into());
        kept.save().unwrap();
        let found = Kept::find(&graph, &id).unwrap();
        assert_eq!(found.policy().name(), "tlru");
        assert_eq!((found.done().accesses, found.done().moved), (10, 4));
        assert_eq!(found.state.as_deref(), Some(&[1, b'\n', 3][..]));
        // Another graph's, damaged, gone.
        assert_eq!(Kept::find(&graph, &[8; 16]).unwrap().policy().name(), POLICY);
        std::fs::write(path_of(&graph), "{}").unwrap();
        assert_eq!(Kept::find(&graph, &id).unwrap().state, None);
        std::fs::remove_file(path_of(&graph)).unwrap();
        assert_eq!(Kept::find(&graph, &id).unwrap().state, None);
    }

    #[test]
    fn another_policy_forgets_the_state() {
        let mut kept = Kept::new(Path::new("g"), &[0; 16], &policy("tlru").unwrap());
        kept.state = Some(vec![1]);
        kept.change_policy(&policy("tlru").unwrap());
        assert!(kept.state.is_some());
        kept.change_policy(&policy("tlfu").unwrap());
        assert!(kept.state.is_none() && kept.policy().name() == "tlfu");
        assert!(policy("ideal").is_err() && policy("best").is_err());
    }
}
