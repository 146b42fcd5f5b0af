//! What the folder of a sharded graph holds, as JSON.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use cenote_device::small_file;
use crc_fast::{CrcAlgorithm, checksum};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::output::partial::PartialFile;

/// The name of the manifest in its folder.
pub const MANIFEST: &str = "shards.json";

const FORMAT: &str = "cenote-shards";
const VERSION: u32 = 1;

/// What comes before the checksum in the file, and is no longer covered by it.
const CHECKSUM: &str = ",\n  \"checksum\": \"";

/// The description of a sharded graph. It is written last: a folder that has it is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// `cenote-shards`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Vertices of the graph.
    pub vertices: u64,
    /// Its edges, each undirected one once.
    pub edges: u64,
    /// Whether its edges have a direction. The files of the shards are directed in any case.
    pub directed: bool,
    /// Whether the shards have in-lists.
    pub in_edges: bool,
    /// Type of the weights: `f32`, `f64`, `u32` or `i64`.
    pub weights: Option<String>,
    /// Kind of the user's ids: `integer` or `string`.
    pub ids: String,
    /// Whether repeated edges were kept.
    pub duplicates_kept: bool,
    /// Whether edges from a vertex to itself were kept.
    pub self_loops_kept: bool,
    /// The shards, by ascending range.
    pub shards: Vec<ShardEntry>,
}

/// A shard: its range of vertices, and its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShardEntry {
    /// The graph file, in the folder.
    pub file: String,
    /// The number of its first own vertex.
    pub first_vertex: u64,
    /// How many vertices it owns.
    pub vertices: u64,
    /// Entries of the out-lists of these.
    pub out_entries: u64,
    /// Entries of their in-lists; 0 without in-edges.
    pub in_entries: u64,
    /// How many vertices of its boundary each shard owns; 0 for itself.
    pub boundary: Vec<u64>,
    /// Bytes of the graph file.
    pub bytes: u64,
    /// CRC-32 (ISO-HDLC, as of zip) of the graph file, in hexadecimal.
    pub crc32: String,
    /// The file with the user's ids of its own vertices.
    pub ids_file: String,
    /// Bytes of that.
    pub ids_bytes: u64,
    /// CRC-32 of that.
    pub ids_crc32: String,
}

impl ShardEntry {
    /// The number behind its last own vertex.
    pub fn end(&self) -> u64 {
        self.first_vertex.saturating_add(self.vertices)
    }

    /// Vertices of its boundary.
    pub fn boundary_vertices(&self) -> u64 {
        self.boundary.iter().fold(0, |sum, owned| sum.saturating_add(*owned))
    }
}

impl Manifest {
    /// The name and version of the format, for [`Manifest::format`] and [`Manifest::version`].
    pub(super) fn format() -> (String, u32) {
        (FORMAT.to_owned(), VERSION)
    }

    /// Reads the manifest of a folder, and verifies its checksum and that its ranges follow each
    /// other.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the folder has none; [`Error::Unsupported`] for another version;
    /// [`Error::Corrupt`].
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let path = folder.join(MANIFEST);
        let text = match small_file::open(&path).and_then(io::read_to_string) {
            Ok(text) => text,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                let reason = format!("is no sharded graph: it has no {MANIFEST}");
                return Err(Error::input(folder, reason));
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(corrupt(&path, "it is no text"));
            }
            Err(error) => {
                return Err(Error::from_io(format!("cannot read {}", path.display()), error));
            }
        };
        Self::parse(&text).map_err(|fault| match fault {
            Fault::Damaged(reason) => corrupt(&path, &reason),
            Fault::Version(version) => {
                let reason = format!(
                    "{}: version {version} of sharded graphs: this program reads version {VERSION}",
                    path.display()
                );
                Error::Unsupported(reason.into())
            }
        })
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let damaged = |reason: &str| Fault::Damaged(reason.to_owned());
        let (covered, after) = text.rsplit_once(CHECKSUM).ok_or_else(|| damaged("no checksum"))?;
        let stated = after.split('"').next().unwrap_or_default();
        if stated != crc32(covered.as_bytes()) {
            return Err(damaged("its checksum is another"));
        }
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| Fault::Damaged(error.to_string()))?;
        if value["format"] != FORMAT {
            return Err(damaged("it describes no sharded graph"));
        }
        if value["version"] != VERSION {
            return Err(Fault::Version(value["version"].to_string()));
        }
        let manifest: Self =
            serde_json::from_value(value).map_err(|error| Fault::Damaged(error.to_string()))?;
        manifest.check_ranges()?;
        Ok(manifest)
    }

    fn check_ranges(&self) -> Result<(), Fault> {
        let mut next = 0;
        for shard in &self.shards {
            if shard.first_vertex != next {
                return Err(Fault::Damaged(format!("no shard has the vertex {next}")));
            }
            if shard.boundary.len() != self.shards.len() {
                let reason = format!("{}: a boundary of other shards", shard.file);
                return Err(Fault::Damaged(reason));
            }
            // A name of the folder, not a path that leads out of it.
            for name in [&shard.file, &shard.ids_file] {
                if name.contains('/') || name.starts_with('.') || name.is_empty() {
                    return Err(Fault::Damaged(format!("{name:?} is no name of a file")));
                }
            }
            next = shard.end();
        }
        match next == self.vertices && !self.shards.is_empty() {
            true => Ok(()),
            false => Err(Fault::Damaged(format!("shards of {next} vertices of {}", self.vertices))),
        }
    }

    /// Writes the manifest to a folder; it appears when it is complete.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let cannot = || format!("cannot write {}", path.display());
        let text =
            serde_json::to_string_pretty(self).expect("text and numbers have a form in JSON");
        let covered = text.strip_suffix("\n}").expect("it is an object of several lines");
        let mut file = PartialFile::create(&path)?;
        let sum = crc32(covered.as_bytes());
        write!(file, "{covered}{CHECKSUM}{sum}\"\n}}\n").map_err(Error::io(cannot()))?;
        file.finish().map(drop)
    }

    /// Vertices of all boundaries together: a vertex counts once for each shard in whose boundary
    /// it is.
    pub fn boundary_vertices(&self) -> u64 {
        self.shards.iter().map(ShardEntry::boundary_vertices).fold(0, u64::saturating_add)
    }
}

enum Fault {
    Damaged(String),
    Version(String),
}

fn corrupt(path: &Path, reason: &str) -> Error {
    Error::Corrupt(format!("{}: damaged: {reason}", path.display()).into())
}

/// CRC-32 of zip, in hexadecimal.
pub(super) fn crc32(bytes: &[u8]) -> String {
    format!("{:08x}", checksum(CrcAlgorithm::Crc32IsoHdlc, bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn manifest() -> Manifest {
        let (format, version) = Manifest::format();
        let shard = |file: &str, first_vertex, vertices| ShardEntry {
            file: file.to_owned(),
            first_vertex,
            vertices,
            out_entries: 7,
            in_entries: 0,
            boundary: vec![0, 2],
            bytes: 4096,
            crc32: "00000000".to_owned(),
            ids_file: "ids".to_owned(),
            ids_bytes: 1,
            ids_crc32: "00000000".to_owned(),
        };
        Manifest {
            format,
            version,
            vertices: 10,
            edges: 9,
            directed: false,
            in_edges: false,
            weights: None,
            ids: "integer".to_owned(),
            duplicates_kept: false,
            self_loops_kept: false,
            shards: vec![shard("a", 0, 4), shard("b", 4, 6)],
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written_and_any_changed_byte_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let written = manifest();
        written.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), written);
        let path = folder.path().join(MANIFEST);
        let text = fs::read(&path).unwrap();
        for at in 0..text.len() - 4 {
            let mut changed = text.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            let error = Manifest::read(folder.path()).unwrap_err();
            assert!(matches!(error, Error::Corrupt(_)), "byte {at}: {error}");
        }
    }

    #[test]
    fn ranges_and_names_that_make_no_sense_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let broken: [fn(&mut Manifest); 6] = [
            |m| m.shards[1].first_vertex = 5,
            |m| m.vertices = 11,
            |m| m.shards.clear(),
            |m| m.shards[0].file = "../a".to_owned(),
            |m| m.shards[0].boundary.clear(),
            |m| m.format = "other".to_owned(),
        ];
        for (at, change) in broken.into_iter().enumerate() {
            let mut changed = manifest();
            change(&mut changed);
            changed.write(folder.path()).unwrap();
            let error = Manifest::read(folder.path()).unwrap_err();
            assert!(matches!(error, Error::Corrupt(_)), "change {at}: {error}");
        }
        let mut newer = manifest();
        newer.version = 2;
        newer.write(folder.path()).unwrap();
        let error = Manifest::read(folder.path()).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
}
