//! Reads the metadata at the end of a Parquet file within the memory.
//!
//! What the metadata takes decoded is computed before, in a walk through the footer that keeps
//! nothing of it: a list of a footer may take a hundred times its bytes.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy, RowGroupMetaData,
};
use parquet::schema::types::{ColumnDescriptor, Type};

use super::thrift::{Found, Walker, broken};

/// Bytes of the length of the metadata and of the mark behind it.
const TAIL_BYTES: u64 = 8;

/// Groups of columns within each other, at most: decoding and dropping them is recursive.
const SCHEMA_DEPTH_MAX: usize = 100;

/// Memory of an element of a schema: as it is decoded first, its node in the tree, the column.
const SCHEMA_BYTES: usize = 512 + size_of::<Type>() + size_of::<ColumnDescriptor>();
/// Memory of an element of any other list, and of a string beside its bytes.
const ELEMENT_BYTES: usize = 64;

/// Places of the fields of `FileMetaData`, by the numbers of Parquet's Thrift definition.
const SCHEMA: &[i16] = &[2];
const NAME: &[i16] = &[2, 4];
const CHILDREN: &[i16] = &[2, 5];
const GROUPS: &[i16] = &[4];
const COLUMNS: &[i16] = &[4, 1];

/// `ColumnMetaData`, of whose lists and strings only the geospatial statistics are decoded.
const COLUMN: &[i16] = &[4, 1, 3];
const GEOSPATIAL: i16 = 17;

fn is_skipped(place: &[i16]) -> bool {
    place.strip_prefix(COLUMN).is_some_and(|rest| rest.first() != Some(&GEOSPATIAL))
}

/// Where the metadata lies in the file, and the most memory that it takes decoded, beside its bytes
/// in the file. Not found where the file has no place for it.
pub(super) fn find(file: &File) -> io::Result<Option<Footer>> {
    let bytes = file.metadata()?.len();
    let Some(end) = bytes.checked_sub(TAIL_BYTES) else { return Ok(None) };
    let mut tail = [0; 8];
    file.read_exact_at(&mut tail, end)?;
    let [a, b, c, d, mark @ ..] = tail;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if mark != *b"PAR1" || length > end {
        return Ok(None);
    }
    let start = end - length;
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(start))?;
    let mut sizes = Sizes::default();
    Walker::new(reader, length).walk(&mut |place, found| sizes.add(place, found))?;
    Ok(Some(Footer { start, bytes: length as usize, decoded_bytes: sizes.bytes() }))
}

pub(super) struct Footer {
    start: u64,
    pub bytes: usize,
    pub decoded_bytes: usize,
}

impl Footer {
    /// Decodes the metadata, without the statistics of its columns.
    pub fn decode(&self, file: &File) -> ParquetResult<ParquetMetaData> {
        let mut bytes = vec![0; self.bytes];
        file.read_exact_at(&mut bytes, self.start)?;
        let none = ParquetStatisticsPolicy::SkipAll;
        let options = ParquetMetaDataOptions::new()
            .with_encoding_stats_policy(none.clone())
            .with_column_stats_policy(none.clone())
            .with_size_stats_policy(none);
        ParquetMetaDataReader::decode_metadata_with_options(&bytes, Some(&options))
    }
}

/// Sums up the memory of decoded metadata.
#[derive(Default)]
struct Sizes {
    bytes: usize,
    /// Elements of the schema, and those of them that are columns.
    elements: u64,
    columns: usize,
    name_bytes: usize,
    children: i64,
    /// Groups around the next element: elements that they still lack, bytes of their path.
    groups: Vec<(i64, usize)>,
}

impl Sizes {
    fn add(&mut self, place: &[i16], found: Found) -> io::Result<()> {
        match (place, found) {
            (SCHEMA, Found::List(count)) => {
                self.elements = count;
                self.bytes += count as usize * SCHEMA_BYTES;
            }
            (GROUPS, Found::List(count)) => {
                self.bytes += count as usize * size_of::<RowGroupMetaData>();
            }
            (COLUMNS, Found::List(count)) => {
                self.bytes += count as usize * size_of::<ColumnChunkMetaData>();
            }
            _ if is_skipped(place) => {}
            (_, Found::List(count)) => self.bytes += count as usize * ELEMENT_BYTES,
            (NAME, Found::Binary(bytes)) => self.name_bytes = bytes as usize,
            (_, Found::Binary(bytes)) => self.bytes += bytes as usize + ELEMENT_BYTES,
            (CHILDREN, Found::Integer(count)) => self.children = count,
            (SCHEMA, Found::End) => return self.end_element(),
            _ => {}
        }
        Ok(())
    }

    fn end_element(&mut self) -> io::Result<()> {
        let name_bytes = std::mem::take(&mut self.name_bytes) + ELEMENT_BYTES;
        let children = std::mem::take(&mut self.children);
        let path_bytes = self.groups.last().map_or(0, |&(_, bytes)| bytes) + name_bytes;
        self.bytes += name_bytes;
        if children < 0 || children as u64 > self.elements {
            return Err(broken("a group of its schema has more columns than the schema"));
        }
        if let Some((lacking, _)) = self.groups.last_mut() {
            *lacking -= 1;
        }
        if children > 0 {
            if self.groups.len() == SCHEMA_DEPTH_MAX {
                return Err(broken("its schema is nested too deeply"));
            }
            self.bytes += children as usize * size_of::<usize>();
            self.groups.push((children, path_bytes));
            return Ok(());
        }
        // A column has a copy of its path.
        self.bytes += path_bytes;
        self.columns += 1;
        while self.groups.last().is_some_and(|&(lacking, _)| lacking == 0) {
            self.groups.pop();
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        // A row group has places for all columns before those that it has are counted.
        self.bytes + self.columns * size_of::<ColumnChunkMetaData>()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn decoded_metadata_takes_no_more_than_was_computed() {
        let leaves: String = (0..200).map(|at| format!("required int64 c{at};")).collect();
        let nested: String = (0..30).map(|at| format!("optional group g{at} {{")).collect();
        let close = "}".repeat(30);
        let schema = format!("message m {{ {leaves} {nested} {leaves} {close} }}");
        let schema = std::sync::Arc::new(parse_message_type(&schema).unwrap());
        let more = (0..500).map(|at| KeyValue::new(at.to_string(), "value".to_owned())).collect();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(more)).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties.into()).unwrap();
        for _ in 0..20 {
            let mut group = writer.next_row_group().unwrap();
            while let Some(column) = group.next_column().unwrap() {
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&writer.into_inner().unwrap()).unwrap();
        let footer = find(&file).unwrap().unwrap();
        let memory = footer.decode(&file).unwrap().memory_size();
        assert!(memory <= footer.decoded_bytes, "{memory} of {}", footer.decoded_bytes);
        assert!(memory * 4 > footer.decoded_bytes, "{memory} of {}", footer.decoded_bytes);
    }
}
