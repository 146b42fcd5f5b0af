//! Reads the row groups of Parquet: two columns of integers or strings, and optionally weights.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::SerializedPageReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type as Field};

use super::Problem;
use super::checked::Checked;
use super::choice::{ColumnChoice, Known, NULL, no_ids, no_weights, two_kinds};
use super::footer;
use super::pages::{Memory, Pages};
use crate::budget::{Budget, Held};
use crate::config::InputSpec;
use crate::edges::{integer_ids, ordered_weights};
use crate::error::{ImportError, Result};
use crate::input::input_error;
use crate::rows::{EdgeColumns, IdColumn, WrongRow};
use cenote_store::WeightType;

const BATCH: usize = 4096;
const WHAT: &str = "pages of a Parquet file";
const METADATA: &str = "the metadata of a Parquet file";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Text,
    Float,
}

pub(crate) struct Columns<'a> {
    file: Arc<File>,
    metadata: ParquetMetaData,
    metadata_held: Held<'a>,
    name: String,
    /// Source, target and, if weights are imported, weight.
    places: Vec<usize>,
    kinds: Vec<Kind>,
    weights: Option<WeightType>,
    bytes: u64,
    budget: &'a Budget,
    /// The most memory that metadata and pages took, or would have taken.
    page_bytes: &'a AtomicUsize,
}

pub(crate) fn open<'a>(
    spec: &InputSpec,
    weights: Option<WeightType>,
    (budget, page_bytes): (&'a Budget, &'a AtomicUsize),
) -> Result<Columns<'a>> {
    let name = spec.name();
    let refuse = |reason: String| ImportError::Format { input: name.clone(), reason };
    if spec.is_stdin() {
        return Err(refuse("Parquet cannot be read from a pipe; give a file".to_owned()));
    }
    let file = File::open(&spec.path).map_err(input_error(&name, "open"))?;
    let bytes = file.metadata().map_err(input_error(&name, "examine"))?.len();
    let (metadata, metadata_held) = metadata(&file, &name, (budget, page_bytes))?;
    let schema = metadata.file_metadata().schema_descr();
    let (places, kinds) = choose(schema, spec, weights).map_err(refuse)?;
    check_codecs(&metadata, &places).map_err(refuse)?;
    let file = Arc::new(file);
    Ok(Columns {
        file,
        metadata,
        metadata_held,
        name,
        places,
        kinds,
        weights,
        bytes,
        budget,
        page_bytes,
    })
}

/// The places of the columns of source, target and, if weights are imported, weight, and what they
/// hold.
fn choose(
    schema: &SchemaDescriptor,
    spec: &InputSpec,
    weights: Option<WeightType>,
) -> std::result::Result<(Vec<usize>, Vec<Kind>), String> {
    let fields = schema.root_schema().get_fields();
    let nested: Vec<usize> = (0..fields.len()).filter(|&at| is_nested(&fields[at])).collect();
    let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    let known = Known { names: &names, count: names.len(), nested: &nested };
    // A nested column is stored in several places, or in one that is not it.
    let place_of = |column: usize| {
        let mut places = 0..schema.num_columns();
        let found = places.find(|&place| schema.get_column_root_idx(place) == column);
        found.expect("a column that is not nested has a place")
    };
    let asked = ColumnChoice::of(spec);
    let ids = asked.ids(known).map_err(Problem::reason)?;
    let mut places = ids.map(place_of).to_vec();
    let kind = |&place: &usize| kind_of(&schema.column(place));
    let mut kinds = places.iter().map(kind).collect::<std::result::Result<Vec<_>, _>>()?;
    if (kinds[0] == Kind::Text) != (kinds[1] == Kind::Text) {
        let [source, target] = ids.map(|id| names[id].as_str());
        return Err(two_kinds(source, target));
    }
    if weights.is_some() {
        let place = place_of(asked.weight(known, ids).map_err(Problem::reason)?);
        places.push(place);
        kinds.push(weight_kind_of(&schema.column(place))?);
    }
    Ok((places, kinds))
}

fn is_nested(field: &Field) -> bool {
    let info = field.get_basic_info();
    field.is_group() || info.has_repetition() && info.repetition() == Repetition::REPEATED
}

/// Refuses columns with a compression that is not read.
fn check_codecs<'m>(
    metadata: &'m ParquetMetaData,
    places: &[usize],
) -> std::result::Result<(), String> {
    let columns =
        |group: &'m RowGroupMetaData| places.iter().map(move |&place| group.column(place));
    for column in metadata.row_groups().iter().flat_map(columns) {
        let codec = match column.compression() {
            Compression::BROTLI(_) => "Brotli",
            Compression::LZO => "LZO",
            _ => continue,
        };
        return Err(format!(
            "column {} is compressed with {codec}, which is not read: write the file with zstd, \
             snappy, gzip, lz4 or no compression",
            column.column_path().string()
        ));
    }
    Ok(())
}

/// The metadata of a file, with its memory.
fn metadata<'a>(
    file: &File,
    name: &str,
    (budget, page_bytes): (&'a Budget, &AtomicUsize),
) -> Result<(ParquetMetaData, Held<'a>)> {
    let wrap = |error: ParquetError| broken(name, &error);
    let Some(footer) =
        footer::find(file).map_err(|error| wrap(ParquetError::General(error.to_string())))?
    else {
        // It says what is missing.
        let read = ParquetMetaDataReader::new().parse_and_finish(file).map_err(wrap)?;
        return Ok((read, budget.hold(0, METADATA)?));
    };
    let bytes = footer.bytes.saturating_add(footer.decoded_bytes);
    page_bytes.fetch_max(bytes, Ordering::Relaxed);
    let mut held = budget.hold(bytes, METADATA).map_err(|error| of_file(error, name))?;
    let metadata = footer.decode(file).map_err(wrap)?;
    check_places(&metadata).map_err(wrap)?;
    held.shrink_to(footer.decoded_bytes);
    Ok((metadata, held))
}

/// Refuses places of columns that are negative, which the reader asserts.
fn check_places(metadata: &ParquetMetaData) -> std::result::Result<(), ParquetError> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let dictionary = column.dictionary_page_offset().unwrap_or(0);
        if column.data_page_offset().min(dictionary).min(column.compressed_size()) < 0 {
            return Err(ParquetError::General("a column at a negative place".to_owned()));
        }
    }
    Ok(())
}

/// Names the file that needs the memory.
fn of_file(error: ImportError, name: &str) -> ImportError {
    match error {
        ImportError::Memory { given, needed, what, .. } => {
            ImportError::Memory { input: Some(name.to_owned()), given, needed, what }
        }
        other => other,
    }
}

fn broken(name: &str, error: &ParquetError) -> ImportError {
    let reason = format!("is no readable Parquet file (damaged or cut off?): {error}");
    ImportError::Format { input: name.to_owned(), reason }
}

/// What a column of integers holds that are not meant as such.
fn no_numbers(column: &ColumnDescriptor) -> Option<&'static str> {
    use ConvertedType::{
        DATE, DECIMAL, TIME_MICROS, TIME_MILLIS, TIMESTAMP_MICROS, TIMESTAMP_MILLIS,
    };
    use LogicalType::{Date, Decimal, Time, Timestamp};
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(Decimal(_)), _) | (_, DECIMAL) if column.type_scale() > 0 => {
            Some("decimals, which are not read (make them `double`)")
        }
        (Some(Date | Time(_) | Timestamp(_)), _)
        | (_, DATE | TIME_MILLIS | TIME_MICROS | TIMESTAMP_MILLIS | TIMESTAMP_MICROS) => {
            Some("dates or times, which are not read (make them integers)")
        }
        _ => None,
    }
}

fn kind_of(column: &ColumnDescriptor) -> std::result::Result<Kind, String> {
    if let Some(holds) = no_numbers(column) {
        return Err(no_ids(&column.path().string(), &holds));
    }
    let unsigned = matches!(
        column.logical_type_ref(),
        Some(LogicalType::Integer(kind)) if !kind.is_signed
    ) || matches!(
        column.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    match column.physical_type() {
        Type::INT32 | Type::INT64 if unsigned => Ok(Kind::Unsigned),
        Type::INT32 | Type::INT64 => Ok(Kind::Signed),
        Type::BYTE_ARRAY => Ok(Kind::Text),
        other => Err(no_ids(&column.path().string(), &other)),
    }
}

fn weight_kind_of(column: &ColumnDescriptor) -> std::result::Result<Kind, String> {
    if let Some(holds) = no_numbers(column) {
        return Err(no_weights(&column.path().string(), &holds));
    }
    match column.physical_type() {
        Type::FLOAT | Type::DOUBLE => Ok(Kind::Float),
        Type::INT32 | Type::INT64 => kind_of(column),
        other => Err(no_weights(&column.path().string(), &other)),
    }
}

impl<'a> Columns<'a> {
    pub fn groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// Whether ids are strings.
    pub fn names(&self) -> bool {
        self.kinds[0] == Kind::Text
    }

    /// Average bytes of a row group in the file, for progress.
    pub fn group_bytes(&self) -> u64 {
        self.bytes / self.groups().max(1) as u64
    }

    /// The part of [`Self::group_bytes`] that the first rows of a row group take.
    pub fn bytes_of_rows(&self, index: usize, rows: u64) -> u64 {
        let all = self.group_rows(index).max(rows).max(1);
        (u128::from(self.group_bytes()) * u128::from(rows) / u128::from(all)) as u64
    }

    /// Rows of a row group.
    pub fn group_rows(&self, index: usize) -> u64 {
        self.metadata.row_group(index).num_rows().max(0) as u64
    }

    /// A row group, whose pages may take the `share`-th part of the remaining memory.
    pub fn group(&self, index: usize, share: usize) -> Result<Group<'_, 'a>> {
        let group = self.metadata.row_group(index);
        let (mut columns, mut row_bytes) = (Vec::new(), 24);
        for (&place, &kind) in self.places.iter().zip(&self.kinds) {
            let wrap = |e: ParquetError| broken(&self.name, &e);
            let column = group.column(place);
            let rows = usize::try_from(group.num_rows()).map_err(|e| wrap(e.into()))?;
            let pages = Pages::new(&self.file, kind == Kind::Text)
                .map_err(input_error(&self.name, "read"))?;
            let memory = pages.memory();
            let pages = SerializedPageReader::new(Arc::new(pages), column, rows, None);
            let described = column.column_descr_ptr();
            let pages = pages.map_err(wrap)?;
            let pages = Checked::new(pages, Arc::clone(&described), memory.clone(), BATCH);
            let reader = get_column_reader(described, Box::new(pages));
            let held = self.budget.hold(0, WHAT)?;
            columns.push(Column { reader, kind, memory, held });
            if kind == Kind::Text {
                row_bytes += column.uncompressed_size().max(0) as usize / rows.max(1);
            }
        }
        Ok(Group { file: self, index, columns, row_bytes, share })
    }
}

struct Column<'a> {
    reader: ColumnReader,
    kind: Kind,
    memory: Memory,
    held: Held<'a>,
}

pub(crate) struct Group<'f, 'a> {
    file: &'f Columns<'a>,
    index: usize,
    /// Source, target and, if weights are imported, weight.
    columns: Vec<Column<'a>>,
    row_bytes: usize,
    share: usize,
}

impl Group<'_, '_> {
    /// As [`Columns::bytes_of_rows`].
    pub fn bytes_of_rows(&self, rows: u64) -> u64 {
        self.file.bytes_of_rows(self.index, rows)
    }

    /// The edges of the next rows, of about `limit` bytes at most; the first is number `row`. There
    /// are none at the end.
    pub fn next(&mut self, limit: usize, row: u64) -> Result<EdgeColumns<ByteArray>> {
        let rows = (limit / self.row_bytes).clamp(1, BATCH);
        let [source, target] = [self.ids(0, rows, row)?, self.ids(1, rows, row)?];
        let weights = match self.file.weights {
            Some(kind) => Some(self.load(2, row, |column| column.weights(kind, rows))?),
            None => None,
        };
        let edges = EdgeColumns { source, target, weights };
        if !edges.have_one_length() {
            let e = ParquetError::General("columns differ in length".to_owned());
            return Err(broken(&self.file.name, &e));
        }
        Ok(edges)
    }

    fn ids(&mut self, which: usize, rows: usize, row: u64) -> Result<IdColumn<ByteArray>> {
        self.load(which, row, |column| column.ids(rows))
    }

    /// Calls `load` on a column, within the remaining memory.
    fn load<T>(
        &mut self,
        which: usize,
        row: u64,
        load: impl FnOnce(&mut Column<'_>) -> std::result::Result<T, Unread>,
    ) -> Result<T> {
        let (name, free) = (&self.file.name, self.file.budget.free() / self.share);
        let column = &mut self.columns[which];
        column.memory.begin(free + column.held.bytes());
        let loaded = load(column);
        let bytes = column.memory.refused().unwrap_or_else(|| column.memory.bytes());
        let of_columns = bytes.saturating_mul(self.file.places.len());
        let all_bytes = of_columns.saturating_add(self.file.metadata_held.bytes());
        self.file.page_bytes.fetch_max(all_bytes, Ordering::Relaxed);
        if column.memory.refused().is_some() {
            // More than the share of the free memory, if not more than all of it.
            return Err(self.refused(which, bytes));
        }
        let column = &mut self.columns[which];
        column.held.resize(bytes, WHAT).map_err(|error| of_file(error, name))?;
        loaded.map_err(|unread| match unread {
            Unread::Row(wrong) => wrong_row(name, row, wrong),
            Unread::Parquet(error) => broken(name, &error),
        })
    }
}

impl Group<'_, '_> {
    /// The error of pages of a column that need too many bytes.
    fn refused(&self, which: usize, bytes: usize) -> ImportError {
        let budget = self.file.budget;
        let needed = budget.used() - self.columns[which].held.bytes() + bytes;
        ImportError::Memory {
            input: Some(self.file.name.clone()),
            given: budget.limit(),
            needed: needed.max(budget.limit()),
            what: WHAT,
        }
    }
}

fn wrong_row(name: &str, first_row: u64, (at, reason): WrongRow) -> ImportError {
    ImportError::Row { input: name.to_owned(), row: first_row + at as u64, reason }
}

enum Unread {
    Row(WrongRow),
    Parquet(ParquetError),
}

impl From<WrongRow> for Unread {
    fn from(wrong: WrongRow) -> Self {
        Unread::Row(wrong)
    }
}

impl Column<'_> {
    fn ids(&mut self, rows: usize) -> std::result::Result<IdColumn<ByteArray>, Unread> {
        use ColumnReader::{ByteArrayColumnReader, Int32ColumnReader, Int64ColumnReader};
        let ids = match (&mut self.reader, self.kind) {
            (ByteArrayColumnReader(reader), _) => return Ok(IdColumn::Names(read(reader, rows)?)),
            (Int32ColumnReader(reader), Kind::Signed) => signed_ids(&read(reader, rows)?)?,
            (Int64ColumnReader(reader), Kind::Signed) => signed_ids(&read(reader, rows)?)?,
            (Int32ColumnReader(reader), _) => {
                read(reader, rows)?.into_iter().map(|id| id.cast_unsigned().into()).collect()
            }
            (Int64ColumnReader(reader), _) => {
                read(reader, rows)?.into_iter().map(i64::cast_unsigned).collect()
            }
            _ => unreachable!("`open` demands integers or strings"),
        };
        Ok(IdColumn::Integers(ids))
    }

    fn weights(&mut self, kind: WeightType, rows: usize) -> std::result::Result<Vec<u64>, Unread> {
        use ColumnReader::{
            DoubleColumnReader, FloatColumnReader, Int32ColumnReader, Int64ColumnReader,
        };
        let ordered = match (&mut self.reader, self.kind) {
            (FloatColumnReader(reader), _) => ordered_weights(read(reader, rows)?, kind),
            (DoubleColumnReader(reader), _) => ordered_weights(read(reader, rows)?, kind),
            (Int32ColumnReader(reader), Kind::Signed) => ordered_weights(read(reader, rows)?, kind),
            (Int64ColumnReader(reader), Kind::Signed) => ordered_weights(read(reader, rows)?, kind),
            (Int32ColumnReader(reader), _) => {
                ordered_weights(read(reader, rows)?.into_iter().map(i32::cast_unsigned), kind)
            }
            (Int64ColumnReader(reader), _) => {
                ordered_weights(read(reader, rows)?.into_iter().map(i64::cast_unsigned), kind)
            }
            _ => unreachable!("`open` demands numbers"),
        };
        Ok(ordered?)
    }
}

fn signed_ids<T>(ids: &[T]) -> std::result::Result<Vec<u64>, WrongRow>
where
    T: Copy + std::fmt::Display + Into<i64> + TryInto<u64>,
{
    // All signs at once, rather than a branch for each.
    let signs = ids.iter().fold(0, |signs, &id| signs | id.into());
    if signs < 0 {
        return integer_ids(ids.iter().copied());
    }
    Ok(ids.iter().map(|&id| id.into().cast_unsigned()).collect())
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> std::result::Result<Vec<T::T>, Unread> {
    let mut values = Vec::with_capacity(rows);
    let mut levels = Vec::new();
    // A page may end within the batch, but all columns must return the same rows.
    let mut got = 0;
    while got < rows {
        let (records, _, _) = reader
            .read_records(rows - got, Some(&mut levels), None, &mut values)
            .map_err(Unread::Parquet)?;
        if records == 0 {
            break;
        }
        got += records;
    }
    if values.len() != got {
        let at = levels.iter().position(|&level| level < levels.iter().copied().max().unwrap_or(1));
        return Err(Unread::Row((at.unwrap_or(0), NULL.to_owned())));
    }
    Ok(values)
}
