//! Writes edge files: text, binary pairs, Parquet, by the extension.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parquet::basic::{Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::Int64Type;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// The format of an edge file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeFormat {
    /// One edge a line, with this byte between source and target.
    Text(u8),
    /// Pairs of little-endian 32-bit numbers.
    U32,
    /// Pairs of little-endian 64-bit numbers.
    U64,
    /// Two columns, `source` and `target`.
    Parquet,
}

impl EdgeFormat {
    /// The format of the extension of `path`.
    pub fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        Ok(match ending.to_ascii_lowercase().as_str() {
            "txt" | "el" => Self::Text(b' '),
            "tsv" => Self::Text(b'\t'),
            "u32" => Self::U32,
            "u64" => Self::U64,
            "parquet" => Self::Parquet,
            _ => bail!(
                "{}: the ending names no edge format: expected .txt, .tsv, .u32, .u64 or .parquet",
                path.display()
            ),
        })
    }

    /// Encodes edges for formats without structure.
    ///
    /// # Panics
    /// For Parquet: see [`ParquetEdges`].
    pub fn encode(self, edges: &[[u32; 2]]) -> Vec<u8> {
        match self {
            Self::Text(separator) => {
                let mut text = Vec::with_capacity(edges.len() * 16);
                for &[source, target] in edges {
                    push_decimal(&mut text, source.into());
                    text.push(separator);
                    push_decimal(&mut text, target.into());
                    text.push(b'\n');
                }
                text
            }
            // A plain copy on little-endian machines; the other arm is for the others.
            Self::U32 if cfg!(target_endian = "little") => bytemuck::cast_slice(edges).to_vec(),
            Self::U32 => edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect(),
            Self::U64 => {
                let mut pairs = Vec::with_capacity(edges.len() * 16);
                for &id in edges.iter().flatten() {
                    pairs.extend_from_slice(&u64::from(id).to_le_bytes());
                }
                pairs
            }
            Self::Parquet => panic!("Parquet is written by row groups"),
        }
    }
}

/// Appends a number in decimal digits, several times faster than formatting.
pub fn push_decimal(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[first..]);
}

/// Rows of a row group; 16 MiB while they are collected.
const ROWS_PER_GROUP: usize = 1 << 20;

/// Writes a Parquet file with the columns `source` and `target`, 64-bit integers.
pub struct ParquetEdges<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: [Vec<i64>; 2],
}

impl<W: Write + Send> ParquetEdges<W> {
    /// Creates the file.
    pub fn new(sink: W) -> Result<Self> {
        let column = |name| {
            Type::primitive_type_builder(name, PhysicalType::INT64)
                .with_repetition(Repetition::REQUIRED)
                .build()
                .map(Arc::new)
        };
        let schema = Type::group_type_builder("edges")
            .with_fields(vec![column("source")?, column("target")?])
            .build()?;
        // Ids hardly repeat within a group, so a dictionary saves nothing, and bit-packed
        // differences take about as many bits as an id has.
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .build();
        let writer = SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties))
            .context("cannot begin the Parquet file")?;
        Ok(Self { writer, columns: [Vec::new(), Vec::new()] })
    }

    /// Adds an edge.
    pub fn push(&mut self, source: i64, target: i64) -> Result<()> {
        self.columns[0].push(source);
        self.columns[1].push(target);
        if self.columns[0].len() >= ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    /// Writes the remaining rows and the footer. Returns the sink.
    pub fn finish(mut self) -> Result<W> {
        if !self.columns[0].is_empty() {
            self.write_group()?;
        }
        Ok(self.writer.into_inner()?)
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let mut writer = group.next_column()?.context("the schema has two columns")?;
            writer.typed::<Int64Type>().write_batch(column, None, None)?;
            writer.close()?;
            column.clear();
        }
        group.close()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn decimals_equal_the_formatter() {
        for number in [0, 9, 10, 99, 100, 4_294_967_295, u64::MAX] {
            let mut text = Vec::new();
            push_decimal(&mut text, number);
            assert_eq!(text, number.to_string().into_bytes());
        }
    }

    #[test]
    fn formats_follow_the_ending() {
        assert_eq!(EdgeFormat::of(Path::new("a/b.TXT")).unwrap(), EdgeFormat::Text(b' '));
        assert_eq!(EdgeFormat::of(Path::new("b.u64")).unwrap(), EdgeFormat::U64);
        for path in ["b", "b.png", ".txt"] {
            let message = EdgeFormat::of(Path::new(path)).unwrap_err().to_string();
            assert!(message.contains("expected .txt"), "{message}");
        }
    }

    #[test]
    fn pairs_are_little_endian() {
        assert_eq!(EdgeFormat::U32.encode(&[[1, 0x0203]]), [1, 0, 0, 0, 3, 2, 0, 0]);
        assert_eq!(EdgeFormat::U64.encode(&[[1, 2]])[..9], [1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(EdgeFormat::Text(b' ').encode(&[[1, 20], [3, 4]]), b"1 20\n3 4\n");
    }

    #[test]
    fn parquet_rows_come_back() {
        let mut edges = ParquetEdges::new(Vec::new()).unwrap();
        for i in 0..(ROWS_PER_GROUP as i64 + 5) {
            edges.push(i, 7 - i).unwrap();
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), edges.finish().unwrap()).unwrap();
        let reader = SerializedFileReader::new(file.reopen().unwrap()).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let mut rows = 0;
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            assert_eq!((row.get_long(0).unwrap(), row.get_long(1).unwrap()), (rows, 7 - rows));
            rows += 1;
        }
        assert_eq!(rows, ROWS_PER_GROUP as i64 + 5);
    }
}
