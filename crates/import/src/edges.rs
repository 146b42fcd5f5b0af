//! Edges in memory: slices and iterators, converted to streams of rows. Rows of vertices
//! (`vertices`) are opened in the same way.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use cenote_store::{Weight, WeightType};

use crate::error::ImportError;
use crate::rows::{self, RowReader, STREAM_BYTES, WrongRow, no_weight, put_name, row_error};

/// The id of a vertex: a non-negative integer of any width, or a string of 1 to 65,535 bytes.
pub trait EdgeId {
    /// Whether it is a string.
    const IS_NAME: bool;

    /// Appends the id to a row, or says what is wrong with it.
    fn put(&self, row: &mut Vec<u8>) -> Result<(), String>;
}

/// The weight of an edge: a number.
pub trait EdgeWeight {
    /// The ordered bits of the weight, if `kind` can hold it.
    fn ordered(&self, kind: WeightType) -> Option<u64>;
}

/// An edge: `(source, target)` or `(source, target, weight)`, or a reference to one.
pub trait Edge {
    /// Whether its ids are strings.
    const HAS_NAMES: bool;
    /// Whether it has a weight.
    const HAS_WEIGHT: bool;

    /// Appends the edge as a row, with its weight if weights are imported, or says what is wrong
    /// with it.
    fn put(&self, weights: Option<WeightType>, rows: &mut Vec<u8>) -> Result<(), String>;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl EdgeId for $integer {
            const IS_NAME: bool = false;

            #[inline]
            fn put(&self, row: &mut Vec<u8>) -> Result<(), String> {
                let id = u64::try_from(*self)
                    .map_err(|_| format!("expected an integer id from 0 on, found {self}"))?;
                row.extend_from_slice(&id.to_le_bytes());
                Ok(())
            }
        }

        impl EdgeWeight for $integer {
            fn ordered(&self, kind: WeightType) -> Option<u64> {
                kind.of_integer(i128::try_from(*self).ok()?)
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

impl EdgeWeight for f32 {
    fn ordered(&self, kind: WeightType) -> Option<u64> {
        kind.of_f64(f64::from(*self))
    }
}

impl EdgeWeight for f64 {
    fn ordered(&self, kind: WeightType) -> Option<u64> {
        kind.of_f64(*self)
    }
}

impl EdgeWeight for Weight {
    fn ordered(&self, kind: WeightType) -> Option<u64> {
        match *self {
            Weight::F32(weight) => weight.ordered(kind),
            Weight::F64(weight) => weight.ordered(kind),
            Weight::U32(weight) => weight.ordered(kind),
            Weight::I64(weight) => weight.ordered(kind),
        }
    }
}

macro_rules! names {
    ($($name:ty)*) => {$(
        impl EdgeId for $name {
            const IS_NAME: bool = true;

            fn put(&self, row: &mut Vec<u8>) -> Result<(), String> {
                put_name(self.as_bytes(), row)
            }
        }
    )*};
}

names!(str String Cow<'_, str>);

impl<I: EdgeId + ?Sized> EdgeId for &I {
    const IS_NAME: bool = I::IS_NAME;

    #[inline]
    fn put(&self, row: &mut Vec<u8>) -> Result<(), String> {
        (**self).put(row)
    }
}

pub(crate) fn integer_ids<T: Copy + fmt::Display + TryInto<u64>>(
    values: impl IntoIterator<Item = T>,
) -> Result<Vec<u64>, WrongRow> {
    converted(values, |value| {
        value.try_into().map_err(|_| format!("expected an integer id from 0 on, found {value}"))
    })
}

pub(crate) fn ordered_weights<W: EdgeWeight>(
    values: impl IntoIterator<Item = W>,
    kind: WeightType,
) -> Result<Vec<u64>, WrongRow> {
    converted(values, |value| value.ordered(kind).ok_or_else(|| no_weight(kind)))
}

fn converted<T>(
    values: impl IntoIterator<Item = T>,
    convert: impl Fn(T) -> Result<u64, String>,
) -> Result<Vec<u64>, WrongRow> {
    let values = values.into_iter();
    let mut all = Vec::with_capacity(values.size_hint().0);
    for (at, value) in values.enumerate() {
        all.push(convert(value).map_err(|reason| (at, reason))?);
    }
    Ok(all)
}

impl<I: EdgeId> Edge for (I, I) {
    const HAS_NAMES: bool = I::IS_NAME;
    const HAS_WEIGHT: bool = false;

    #[inline]
    fn put(&self, _: Option<WeightType>, rows: &mut Vec<u8>) -> Result<(), String> {
        self.0.put(rows)?;
        self.1.put(rows)
    }
}

impl<I: EdgeId, W: EdgeWeight> Edge for (I, I, W) {
    const HAS_NAMES: bool = I::IS_NAME;
    const HAS_WEIGHT: bool = true;

    #[inline]
    fn put(&self, weights: Option<WeightType>, rows: &mut Vec<u8>) -> Result<(), String> {
        self.0.put(rows)?;
        self.1.put(rows)?;
        if let Some(kind) = weights {
            let bits = self.2.ordered(kind).ok_or_else(|| no_weight(kind))?;
            rows.extend_from_slice(&bits.to_le_bytes());
        }
        Ok(())
    }
}

impl<E: Edge + ?Sized> Edge for &E {
    const HAS_NAMES: bool = E::HAS_NAMES;
    const HAS_WEIGHT: bool = E::HAS_WEIGHT;

    #[inline]
    fn put(&self, weights: Option<WeightType>, rows: &mut Vec<u8>) -> Result<(), String> {
        (**self).put(weights, rows)
    }
}

pub(crate) trait OpenRows: Send + Sync {
    fn has_names(&self) -> bool;

    /// Number of edges, if they can be read repeatedly.
    fn count(&self) -> Option<u64> {
        None
    }

    /// Says why an import with weights of this type, or without, is impossible.
    fn check(&self, weights: Option<WeightType>) -> Result<(), String>;

    /// Opens the rows, with weights of this type if weights are imported; `None` if they were read
    /// before.
    fn open(&self, weights: Option<WeightType>) -> Option<RowReader<'_>>;
}

struct Slice<'a, E>(&'a [E]);

impl<E: Edge + Sync> OpenRows for Slice<'_, E> {
    fn has_names(&self) -> bool {
        E::HAS_NAMES
    }

    fn count(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn check(&self, weights: Option<WeightType>) -> Result<(), String> {
        check_weights::<E>(weights)
    }

    fn open(&self, weights: Option<WeightType>) -> Option<RowReader<'_>> {
        Some(edge_rows(self.0.iter(), weights))
    }
}

struct Once<I>(Mutex<Option<I>>);

impl<I: Iterator<Item: Edge> + Send> OpenRows for Once<I> {
    fn has_names(&self) -> bool {
        I::Item::HAS_NAMES
    }

    fn check(&self, weights: Option<WeightType>) -> Result<(), String> {
        check_weights::<I::Item>(weights)
    }

    fn open(&self, weights: Option<WeightType>) -> Option<RowReader<'_>> {
        let edges = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        edges.map(|edges| edge_rows(edges, weights))
    }
}

fn check_weights<E: Edge>(weights: Option<WeightType>) -> Result<(), String> {
    if weights.is_some() && !E::HAS_WEIGHT {
        return Err("have no weights; import them without `weights`".to_owned());
    }
    Ok(())
}

fn edge_rows<'a>(
    mut edges: impl Iterator<Item: Edge> + Send + 'a,
    weights: Option<WeightType>,
) -> RowReader<'a> {
    let mut row = 0;
    rows::stream(move |rows| {
        while rows.len() < STREAM_BYTES
            && let Some(edge) = edges.next()
        {
            row += 1;
            edge.put(weights, rows).map_err(|reason| row_error(row, reason))?;
        }
        Ok(())
    })
}

/// Edges that do not come from a file.
pub struct Edges<'a> {
    name: String,
    rows: Box<dyn OpenRows + 'a>,
}

impl fmt::Debug for Edges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edges").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Edges<'a> {
    /// Edges in memory. An import may read them twice instead of spilling them.
    pub fn slice<E: Edge + Sync>(edges: &'a [E]) -> Self {
        Self::of("edges in memory", Slice(edges))
    }

    /// Edges of an iterator, which are read once and spilled.
    pub fn iter<I>(edges: I) -> Self
    where
        I: IntoIterator<Item: Edge, IntoIter: Send + 'a>,
    {
        Self::of("an iterator of edges", Once(Mutex::new(Some(edges.into_iter()))))
    }

    pub(crate) fn of(name: &str, rows: impl OpenRows + 'a) -> Self {
        Self { name: name.to_owned(), rows: Box::new(rows) }
    }

    /// Sets the name in messages.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn has_names(&self) -> bool {
        self.rows.has_names()
    }

    pub(crate) fn can_reread(&self) -> bool {
        self.rows.count().is_some()
    }

    /// Number of rows, if they can be read repeatedly.
    pub(crate) fn count(&self) -> Option<u64> {
        self.rows.count()
    }

    pub(crate) fn row_bytes(&self, weights: Option<WeightType>) -> Option<u64> {
        let row = 16 + if weights.is_some() { 8 } else { 0 };
        self.rows.count().filter(|_| !self.has_names()).map(|count| count * row)
    }

    /// Fails if the edges cannot be imported with these weights.
    pub(crate) fn check(&self, weights: Option<WeightType>) -> Result<(), ImportError> {
        let refused = |reason| ImportError::Format { input: self.name.clone(), reason };
        self.rows.check(weights).map_err(refused)
    }

    pub(crate) fn open(&self, weights: Option<WeightType>) -> Result<RowReader<'_>, ImportError> {
        self.rows.open(weights).ok_or_else(|| {
            ImportError::Options(format!("{}: can be imported only once", self.name))
        })
    }
}
