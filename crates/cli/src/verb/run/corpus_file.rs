//! A corpus of walks in a file, one walk a row, in the user's own ids, row after row as they come.
//!
//! - `.txt`: ids with a space between, one walk a line; `.txt.zst` the same, compressed
//! - `.parquet`: one column, `walk`, a list of ids
//! - `.npy`: an array of 64-bit integers, one walk a row; a walk that ended early is filled up
//!   with -1

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use cenote_engine::{Graph, VertexId};
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, IdTable};
use npyz::{DType, WriteOptions, WriterBuilder};
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::cancel::{self, Guard};
use crate::edge_file::push_decimal;
use cenote::partial::PartialFile;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Vertices of a Parquet row group: what one holds while it is collected is a few MiB.
const GROUP_VERTICES: usize = 1 << 18;

/// Compression of `.txt.zst`, the usual level.
const ZSTD_LEVEL: i32 = 3;

/// What a corpus file looks like.
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
            None => bail!(
                "{}: the ending names no corpus format: expected .txt, .txt.zst, .parquet or .npy",
                path.display()
            ),
        }
    }
}

/// A corpus file that is being written.
pub struct CorpusFile {
    names: IdTable,
    rows: Rows,
    text: Vec<u8>,
    _guard: Guard,
}

enum Rows {
    Text(BufWriter<PartialFile>),
    TextZstd(zstd::Encoder<'static, BufWriter<PartialFile>>),
    Integers(ParquetRows<Int64Type>),
    Strings(ParquetRows<ByteArrayType>),
    Npy { file: BufWriter<PartialFile>, columns: usize },
}

impl CorpusFile {
    /// Begins the file of `walkers` walks of at most `columns` vertices. Refuses what could not be
    /// written before anything runs.
    pub fn create(path: &Path, graph: &Graph, walkers: u64, columns: u64) -> Result<Self> {
        let format = Format::of(path)?;
        let strings = graph.superblock().ids == IdKind::Strings;
        if format == Format::Npy && strings {
            bail!("{}: npy has no place for names: write .parquet or .txt", path.display());
        }
        // Walks name vertices in random order: from memory, not page by page.
        let names = graph.ids()?.load()?;
        if matches!(format, Format::Text | Format::TextZstd) && strings {
            no_spaces(&names, graph).with_context(|| path.display().to_string())?;
        }
        let guard = Guard::new(path);
        let file = PartialFile::create(path)?;
        let buffered = |file| BufWriter::with_capacity(BUFFER_BYTES, file);
        let rows = match format {
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
        };
        Ok(Self { names, rows, text: Vec::new(), _guard: guard })
    }

    /// Memory that it takes: the ids of all vertices, and what is collected.
    pub fn memory_bytes(&self) -> u64 {
        let collected = match &self.rows {
            Rows::Text(_) | Rows::TextZstd(_) | Rows::Npy { .. } => 2 * BUFFER_BYTES,
            Rows::Integers(_) | Rows::Strings(_) => 32 * GROUP_VERTICES,
        };
        (self.names.memory_bytes() + collected) as u64
    }

    /// Adds a walk.
    pub fn row(&mut self, walk: &[VertexId]) -> Result<()> {
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
                    let id = i64::try_from(id).with_context(|| {
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

    /// Gives the file its name. Returns its size in bytes.
    pub fn finish(self) -> Result<u64> {
        cancel::check()?;
        let whole = |file: BufWriter<PartialFile>| file.into_inner().map_err(|e| e.into_error());
        let file = match self.rows {
            Rows::Text(file) | Rows::Npy { file, .. } => whole(file)?,
            Rows::TextZstd(encoder) => whole(encoder.finish()?)?,
            Rows::Integers(rows) => rows.finish()?,
            Rows::Strings(rows) => rows.finish()?,
        };
        file.finish()
    }
}

/// A line could not be cut into ids again.
fn no_spaces(names: &IdTable, graph: &Graph) -> Result<()> {
    for v in 0..graph.vertices() as VertexId {
        let name = names.get(v).to_string();
        ensure!(
            !name.contains(char::is_whitespace),
            "the id `{name}` has a space in it: write .parquet"
        );
    }
    Ok(())
}

fn line(
    file: &mut impl Write,
    names: &IdTable,
    walk: &[VertexId],
    text: &mut Vec<u8>,
) -> Result<()> {
    text.clear();
    for &v in walk {
        match names.get(v) {
            IdRef::Integer(integer) => push_decimal(text, integer),
            IdRef::String(string) => text.extend_from_slice(string.as_bytes()),
        }
        text.push(b' ');
    }
    // A walk has a start, so there is a space to take back.
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
    writer: SerializedFileWriter<PartialFile>,
    values: Vec<T::T>,
    /// 0 where a row begins, 1 where it goes on.
    repetitions: Vec<i16>,
    definitions: Vec<i16>,
}

impl<T: DataType> ParquetRows<T> {
    fn new(file: PartialFile, strings: bool) -> Result<Self> {
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

    fn push(&mut self, walk: impl Iterator<Item = T::T>) -> Result<()> {
        let start = self.values.len();
        self.values.extend(walk);
        self.repetitions.push(0);
        self.repetitions.resize(self.values.len(), 1);
        debug_assert!(self.values.len() > start, "a walk has a start");
        if self.values.len() >= GROUP_VERTICES { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        let mut column = group.next_column()?.context("the schema has the column")?;
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

    fn finish(mut self) -> Result<PartialFile> {
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
