//! A corpus of walks in a file, one walk a row, in the user's ids; rows are streamed.
//!
//! - `.txt`: ids separated by spaces, one walk a line; `.txt.zst` the same, compressed
//! - `.parquet`: one column, `walk`, a list of ids
//! - `.npy`: an array of 64-bit integers, one walk a row; shorter walks are padded with -1

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_engine::VertexId;
use cenote_import::output::Occupant;
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, IdTable};
use npyz::{DType, WriteOptions, WriterBuilder};
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::OutputFile;
use super::table::failed;
use crate::error::{Error, Result};
use crate::export::put_integer;
use crate::graph::StoredGraph;

/// Size of write buffers.
const BUFFER_BYTES: usize = 1 << 20;

/// Vertices of a Parquet row group, which takes a few MiB in memory.
const GROUP_VERTICES: usize = 1 << 18;

/// The default level of zstd.
const ZSTD_LEVEL: i32 = 3;

type Written<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The format of a corpus file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    TextZstd,
    Parquet,
    Npy,
}

impl Format {
    fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let formats = [
            (".txt", Self::Text),
            (".txt.zst", Self::TextZstd),
            (".parquet", Self::Parquet),
            (".npy", Self::Npy),
        ];
        match formats.into_iter().find(|(ending, _)| name.ends_with(ending)) {
            Some((_, format)) => Ok(format),
            None if super::check(path, &[""; 0])? == Occupant::Stream => Ok(Self::Text),
            None => Err(Error::input(
                path,
                "the ending names no corpus format: expected .txt, .txt.zst, .parquet or .npy",
            )),
        }
    }
}

/// Checks that the extension of `path` is a format.
pub fn check(path: &Path) -> Result<()> {
    Format::of(path).map(drop)
}

/// A corpus file that is being written.
pub struct CorpusFile {
    names: IdTable,
    rows: Rows,
    text: Vec<u8>,
    path: PathBuf,
}

enum Rows {
    Text(BufWriter<OutputFile>),
    TextZstd(zstd::Encoder<'static, BufWriter<OutputFile>>),
    Integers(ParquetRows<Int64Type>),
    Strings(ParquetRows<ByteArrayType>),
    Npy { file: BufWriter<OutputFile>, columns: usize },
}

impl fmt::Debug for CorpusFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CorpusFile({})", self.path.display())
    }
}

impl CorpusFile {
    /// Creates the file for `walkers` walks of at most `columns` vertices. Refuses ids that the
    /// format cannot represent.
    pub fn create(
        path: &Path,
        inputs: &[impl AsRef<Path>],
        graph: &StoredGraph,
        (walkers, columns): (u64, u64),
    ) -> Result<Self> {
        let format = Format::of(path)?;
        let strings = graph.superblock().ids == IdKind::Strings;
        if format == Format::Npy && strings {
            return Err(Error::input(path, "npy has no place for names: write .parquet or .txt"));
        }
        // In memory, because walks visit vertices in random order.
        let names = graph.ids()?.load()?;
        if matches!(format, Format::Text | Format::TextZstd) && strings {
            no_spaces(path, &names, graph)?;
        }
        let file = OutputFile::create(path, inputs)?;
        let rows = Rows::new(file, format, strings, (walkers, columns));
        let rows = rows.map_err(|failure| failed(path, failure))?;
        Ok(Self { names, rows, text: Vec::new(), path: path.to_owned() })
    }

    /// Bytes of the ids of all vertices, and of buffers.
    pub fn memory_bytes(&self) -> u64 {
        let collected = match &self.rows {
            Rows::Text(_) | Rows::TextZstd(_) | Rows::Npy { .. } => 2 * BUFFER_BYTES,
            Rows::Integers(_) | Rows::Strings(_) => 32 * GROUP_VERTICES,
        };
        (self.names.memory_bytes() + collected) as u64
    }

    /// Adds a walk.
    pub fn row(&mut self, walk: &[VertexId]) -> Result<()> {
        self.write(walk).map_err(|failure| failed(&self.path, failure))
    }

    fn write(&mut self, walk: &[VertexId]) -> Written {
        let Self { names, rows, text, .. } = self;
        match rows {
            Rows::Text(file) => line(file, names, walk, text)?,
            Rows::TextZstd(file) => line(file, names, walk, text)?,
            Rows::Integers(rows) => {
                // Parquet keeps unsigned integers as signed ones of the same bits.
                rows.push(walk.iter().map(|v| integer(names.get(*v)).cast_signed()))?;
            }
            Rows::Strings(rows) => rows.push(
                walk.iter().map(|v| ByteArray::from(names.get(*v).to_string().into_bytes())),
            )?,
            Rows::Npy { file, columns } => {
                for &v in walk {
                    let id = integer(names.get(v));
                    let id = i64::try_from(id).map_err(|_| {
                        format!("id {id} is too large for npy: write .parquet or .txt")
                    })?;
                    file.write_all(&id.to_le_bytes())?;
                }
                for _ in walk.len()..*columns {
                    file.write_all(&(-1i64).to_le_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Completes the file. Returns its size in bytes.
    pub fn finish(self) -> Result<u64> {
        self.rows.finish().map_err(|failure| failed(&self.path, failure))?.finish()
    }
}

impl Rows {
    fn new(
        file: OutputFile,
        format: Format,
        strings: bool,
        (walkers, columns): (u64, u64),
    ) -> Written<Self> {
        let buffered = |file| BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(match format {
            Format::Text => Rows::Text(buffered(file)),
            Format::TextZstd => Rows::TextZstd(zstd::Encoder::new(buffered(file), ZSTD_LEVEL)?),
            Format::Parquet if strings => Rows::Strings(ParquetRows::new(file, true)?),
            Format::Parquet => Rows::Integers(ParquetRows::new(file, false)?),
            Format::Npy => {
                let file = WriteOptions::new_header_only()
                    .shape(&[walkers, columns])
                    .dtype(DType::parse("'<i8'")?)
                    .writer(buffered(file))
                    .write_header_only()?;
                Rows::Npy { file, columns: usize::try_from(columns)? }
            }
        })
    }

    fn finish(self) -> Written<OutputFile> {
        let whole = |file: BufWriter<OutputFile>| file.into_inner().map_err(|e| e.into_error());
        Ok(match self {
            Rows::Text(file) | Rows::Npy { file, .. } => whole(file)?,
            Rows::TextZstd(encoder) => whole(encoder.finish()?)?,
            Rows::Integers(rows) => rows.finish()?,
            Rows::Strings(rows) => rows.finish()?,
        })
    }
}

/// Refuses ids with white space, which separates ids in text.
fn no_spaces(path: &Path, names: &IdTable, graph: &StoredGraph) -> Result<()> {
    let vertices = 0..graph.vertices() as VertexId;
    for v in vertices.filter(|v| !graph.is_deleted(*v)) {
        let name = names.get(v).to_string();
        if name.contains(char::is_whitespace) {
            let reason = format!("the id `{name}` has a space in it: write .parquet");
            return Err(Error::input(path, reason));
        }
    }
    Ok(())
}

fn line(file: &mut impl Write, names: &IdTable, walk: &[VertexId], text: &mut Vec<u8>) -> Written {
    text.clear();
    for &v in walk {
        match names.get(v) {
            IdRef::Integer(integer) => put_integer(text, integer),
            IdRef::String(string) => text.extend_from_slice(string.as_bytes()),
        }
        text.push(b' ');
    }
    // A walk has at least its start, so there is a trailing space.
    text.pop();
    text.push(b'\n');
    Ok(file.write_all(text)?)
}

fn integer(id: IdRef<'_>) -> u64 {
    match id {
        IdRef::Integer(integer) => integer,
        IdRef::String(_) => unreachable!("names are written by other means"),
    }
}

/// Rows of a column of lists.
struct ParquetRows<T: DataType> {
    writer: SerializedFileWriter<OutputFile>,
    values: Vec<T::T>,
    /// 0 where a row begins, 1 within a row.
    repetitions: Vec<i16>,
    definitions: Vec<i16>,
}

impl<T: DataType> ParquetRows<T> {
    fn new(file: OutputFile, strings: bool) -> Written<Self> {
        let (physical, logical) = if strings {
            (PhysicalType::BYTE_ARRAY, LogicalType::String)
        } else {
            (PhysicalType::INT64, LogicalType::integer(64, false))
        };
        let element = Type::primitive_type_builder("element", physical)
            .with_logical_type(Some(logical))
            .with_repetition(Repetition::REQUIRED)
            .build()?;
        let list = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![Arc::new(element)])
            .build()?;
        let walk = Type::group_type_builder("walk")
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(list)])
            .build()?;
        let schema =
            Type::group_type_builder("corpus").with_fields(vec![Arc::new(walk)]).build()?;
        let properties = Arc::new(WriterProperties::default());
        let writer = SerializedFileWriter::new(file, Arc::new(schema), properties)?;
        Ok(Self { writer, values: Vec::new(), repetitions: Vec::new(), definitions: Vec::new() })
    }

    fn push(&mut self, walk: impl Iterator<Item = T::T>) -> Written {
        let start = self.values.len();
        self.values.extend(walk);
        self.repetitions.push(0);
        self.repetitions.resize(self.values.len(), 1);
        debug_assert!(self.values.len() > start, "a walk has a start");
        if self.values.len() >= GROUP_VERTICES { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Written {
        let mut group = self.writer.next_row_group()?;
        let mut column = group.next_column()?.ok_or("the schema has the column")?;
        self.definitions.resize(self.values.len(), 1);
        let levels = (self.definitions.as_slice(), self.repetitions.as_slice());
        column.typed::<T>().write_batch(&self.values, Some(levels.0), Some(levels.1))?;
        column.close()?;
        group.close()?;
        self.values.clear();
        self.repetitions.clear();
        self.definitions.clear();
        Ok(())
    }

    fn finish(mut self) -> Written<OutputFile> {
        if !self.values.is_empty() {
            self.write_group()?;
        }
        Ok(self.writer.into_inner()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_follow_the_ending() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a/walks.TXT").unwrap(), Format::Text);
        assert_eq!(of("walks.txt.zst").unwrap(), Format::TextZstd);
        assert_eq!(of("walks.npy").unwrap(), Format::Npy);
        assert_eq!(of("walks.parquet").unwrap(), Format::Parquet);
        let message = of("walks.csv").unwrap_err().to_string();
        assert!(message.contains("expected .txt"), "{message}");
    }
}
