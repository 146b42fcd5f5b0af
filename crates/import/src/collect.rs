//! The first pass: collects the user's ids, spills the pairs and takes a sample.

use cenote_device::Buffer;

use crate::batch::Batch;
use crate::blocks::Worker;
use crate::error::Result;
use crate::ids::integers::{IntegerSet, LocalIds};
use crate::ids::names::NameNumbers;
use crate::ids::strings::Dictionary;
use crate::order::sample::Sample;
use crate::parse::token::integer_id_or_name;
use crate::parse::{Fault, Sink};
use crate::spill::{Extent, SpillFile, SpillWriter};

#[derive(Clone, Copy, Debug)]
pub(super) struct CollectorSizes {
    /// Bytes of a spilled block.
    pub spill_block: usize,
    /// Most pairs kept as a sample; even.
    pub sample: usize,
    /// Bytes of a weight after each pair: 0 unless weights are imported.
    pub weight_bytes: usize,
    /// Whether edges are sampled to choose an order of the vertices.
    pub chooses_order: bool,
}

impl CollectorSizes {
    /// Bytes of memory of a collector.
    pub fn memory(&self) -> usize {
        // One block of narrow and one of wide pairs are open.
        let for_order = if self.chooses_order { Sample::BYTES } else { 0 };
        SpillWriter::memory(2, self.spill_block) + self.sample * 16 + for_order
    }
}

#[derive(Debug, Default)]
pub(super) struct Collected {
    pub edges: u64,
    /// Blocks of [`NARROW`] and of [`WIDE`] pairs, each followed by its weight, if any.
    pub extents: [Vec<Extent>; 2],
    pub sample: Vec<(u64, u64)>,
    /// The sample to choose an order of the vertices by.
    pub order_sample: Option<Sample>,
    /// Sum of the [`fingerprint`]s of the pairs, if they are read again.
    pub fingerprint: u64,
}

/// Pairs of `u32`, and pairs of `u64`.
pub(super) const NARROW: usize = 0;
pub(super) const WIDE: usize = 1;
const PAIR_BYTES: [usize; 2] = [8, 16];

/// Hash of an edge, by which a second pass verifies that it reads the same edges.
#[inline]
pub(super) fn fingerprint(source: u64, target: u64, weight: u64) -> u64 {
    let mixed = source.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ target;
    mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(1) ^ weight
}

struct Pairs<'a> {
    spill: Option<SpillWriter<'a>>,
    open: [Option<Open>; 2],
    collected: Collected,
    sample_stride: u64,
    sample_max: usize,
    weight_bytes: usize,
}

struct Open {
    block: Buffer,
    bytes: usize,
}

impl Open {
    fn put(&mut self, bytes: &[u8]) {
        self.block[self.bytes..self.bytes + bytes.len()].copy_from_slice(bytes);
        self.bytes += bytes.len();
    }
}

impl<'a> Pairs<'a> {
    fn new(spill: Option<&'a SpillFile>, sizes: CollectorSizes) -> Result<Self> {
        let spill = spill.map(|file| SpillWriter::new(file, 2, sizes.spill_block)).transpose()?;
        let collected = Collected::default();
        let CollectorSizes { sample: sample_max, weight_bytes, .. } = sizes;
        let (open, sample_stride) = ([None, None], 1);
        Ok(Self { spill, open, collected, sample_stride, sample_max, weight_bytes })
    }

    /// Adds the edges of a batch.
    fn add_all(&mut self, batch: &Batch) -> Result<()> {
        for (source, target, weight) in batch.edges() {
            if self.collected.edges & (self.sample_stride - 1) == 0 {
                self.sample(source, target);
            }
            self.collected.edges += 1;
            self.add(source, target, weight)?;
        }
        if let Some(sample) = &mut self.collected.order_sample {
            batch.edges().for_each(|(source, target, _)| sample.add(source, target));
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, source: u64, target: u64, weight: u64) -> Result<()> {
        if self.spill.is_none() {
            let sum = &mut self.collected.fingerprint;
            *sum = sum.wrapping_add(fingerprint(source, target, weight));
            return Ok(());
        }
        let is_narrow = (source | target) >> 32 == 0;
        let pair = (source | target << 32).to_le_bytes();
        match (is_narrow, self.weight_bytes) {
            (true, 0) => self.narrow(pair),
            (true, _) => self.put(NARROW, &pair, weight),
            (false, _) => {
                let pair = [source.to_le_bytes(), target.to_le_bytes()];
                self.put(WIDE, pair.as_flattened(), weight)
            }
        }
    }

    /// Samples every pair at first; when the sample is full, every second one, and so on.
    #[cold]
    fn sample(&mut self, source: u64, target: u64) {
        let sample = &mut self.collected.sample;
        if sample.len() == self.sample_max {
            let mut keep = false;
            sample.retain(|_| {
                keep = !keep;
                keep
            });
            self.sample_stride *= 2;
            if self.collected.edges & (self.sample_stride - 1) != 0 {
                return;
            }
        }
        self.collected.sample.push((source, target));
    }

    /// Fast path: a pair that fits the open block.
    #[inline]
    fn narrow(&mut self, pair: [u8; 8]) -> Result<()> {
        if let Some(Open { block, bytes }) = &mut self.open[NARROW]
            && let Some(room) = block.get_mut(*bytes..*bytes + 8)
        {
            room.copy_from_slice(&pair);
            *bytes += 8;
            return Ok(());
        }
        self.put(NARROW, &pair, 0)
    }

    #[inline]
    fn put(&mut self, kind: usize, ids: &[u8], weight: u64) -> Result<()> {
        let record = ids.len() + self.weight_bytes;
        let full =
            self.open[kind].as_ref().is_none_or(|open| open.block.len() - open.bytes < record);
        if full {
            self.flush(kind)?;
            let spill = self.spill.as_mut().expect("pairs are spilled");
            self.open[kind] = Some(Open { block: spill.take()?, bytes: 0 });
        }
        if let Some(open) = &mut self.open[kind] {
            open.put(ids);
            open.put(&weight.to_le_bytes()[..self.weight_bytes]);
        }
        Ok(())
    }

    fn flush(&mut self, kind: usize) -> Result<()> {
        let record = PAIR_BYTES[kind] + self.weight_bytes;
        if let (Some(open), Some(spill)) = (self.open[kind].take(), &mut self.spill) {
            let extent = spill.put(open.block, open.bytes, open.bytes / record)?;
            self.collected.extents[kind].push(extent);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Collected> {
        self.flush(NARROW)?;
        self.flush(WIDE)?;
        if let Some(spill) = &mut self.spill {
            spill.finish()?;
        }
        Ok(self.collected)
    }
}

pub(super) struct IntegerCollector<'a, 'b> {
    ids: &'a IntegerSet<'b>,
    local: LocalIds,
    batch: Batch,
    pairs: Pairs<'a>,
    /// Whether ids may turn out to be strings.
    auto: bool,
}

impl<'a, 'b> IntegerCollector<'a, 'b> {
    pub fn new(
        ids: &'a IntegerSet<'b>,
        spill: Option<&'a SpillFile>,
        sizes: CollectorSizes,
        auto: bool,
    ) -> Result<Self> {
        let (batch, mut pairs) = (Batch::new(sizes.weight_bytes > 0), Pairs::new(spill, sizes)?);
        pairs.collected.order_sample = sizes.chooses_order.then(Sample::new);
        Ok(Self { ids, local: LocalIds::default(), batch, pairs, auto })
    }

    #[inline(never)]
    fn add_batch(&mut self) -> Result<()> {
        self.ids.insert_all(self.batch.ids(), &mut self.local)?;
        self.pairs.add_all(&self.batch)?;
        self.batch.clear();
        Ok(())
    }
}

impl Sink for IntegerCollector<'_, '_> {
    const INTEGERS: bool = true;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        integer_id_or_name(token, self.auto)
    }

    #[inline]
    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        Ok(id)
    }

    #[inline]
    fn edge(&mut self, source: u64, target: u64, weight: u64) -> std::result::Result<(), Fault> {
        if self.batch.push(source, target, weight) { Ok(self.add_batch()?) } else { Ok(()) }
    }

    fn vertex(&mut self, id: u64) -> std::result::Result<(), Fault> {
        Ok(self.ids.insert(id, &mut self.local)?)
    }
}

impl Worker for IntegerCollector<'_, '_> {
    type Output = Collected;

    fn finish(mut self) -> Result<Collected> {
        self.add_batch()?;
        self.ids.flush(&mut self.local)?;
        self.pairs.finish()
    }
}

pub(super) struct NameCollector<'a, 'b> {
    names: NameNumbers<'a, 'b>,
    batch: Batch,
    pairs: Pairs<'a>,
}

impl<'a, 'b> NameCollector<'a, 'b> {
    pub fn new(
        names: &'a Dictionary<'b>,
        spill: &'a SpillFile,
        sizes: CollectorSizes,
    ) -> Result<Self> {
        let (batch, pairs) = (Batch::new(sizes.weight_bytes > 0), Pairs::new(Some(spill), sizes)?);
        Ok(Self { names: NameNumbers::new(names), batch, pairs })
    }

    #[inline(never)]
    fn add_batch(&mut self) -> Result<()> {
        self.pairs.add_all(&self.batch)?;
        self.batch.clear();
        Ok(())
    }
}

impl Sink for NameCollector<'_, '_> {
    const INTEGERS: bool = false;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        self.names.number(token)
    }

    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        self.id(id.to_string().as_bytes())
    }

    fn edge(&mut self, source: u64, target: u64, weight: u64) -> std::result::Result<(), Fault> {
        if self.batch.push(source, target, weight) { Ok(self.add_batch()?) } else { Ok(()) }
    }

    fn vertex(&mut self, _: u64) -> std::result::Result<(), Fault> {
        Ok(())
    }
}

impl Worker for NameCollector<'_, '_> {
    type Output = Collected;

    fn finish(mut self) -> Result<Collected> {
        self.add_batch()?;
        self.pairs.finish()
    }
}

pub(super) fn join(parts: Vec<Collected>) -> Collected {
    let mut all = Collected::default();
    for part in parts {
        all.edges += part.edges;
        all.fingerprint = all.fingerprint.wrapping_add(part.fingerprint);
        for (all, part) in all.extents.iter_mut().zip(part.extents) {
            all.extend(part);
        }
        all.sample.extend(part.sample);
        all.order_sample = match (all.order_sample.take(), part.order_sample) {
            (Some(mut all), Some(part)) => {
                all.merge(part);
                Some(all)
            }
            (all, part) => all.or(part),
        };
    }
    all
}
