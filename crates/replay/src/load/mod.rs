//! Page loads, generated or read from a trace, which are opened anew for each combination.
//!
//! - [`tpcc`]: the page accesses of TPC-C's five transactions

pub mod tpcc;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cenote_workload::page::dense::Dense;
use cenote_workload::page::mix::{Mix, MixConfig};
use cenote_workload::page::trace::{Trace, TraceFormat};
use cenote_workload::page::zipf::{Zipf, ZipfConfig};
use cenote_workload::page::{PageLoad, PageOp};

use crate::control::Control;
use crate::error::{Result, require};
use tpcc::{Tpcc, TpccConfig, TpccMix, Transaction};

/// Pages and accesses of the ACE evaluation (dissertation 4.5, and its simulator's script).
pub(crate) const PAPER_PAGES: u64 = 344_066;
/// See [`PAPER_PAGES`].
pub(crate) const PAPER_OPS: u64 = 2_000_000;

/// Bytes of one warehouse at the start.
const WAREHOUSE_BYTES: u64 = 85 << 20;

/// Transactions of the sample for the mean number of accesses.
const SAMPLE: u64 = 2_000;

/// A kind of load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// Half reads; 90% of the accesses to 10% of the pages.
    Ms,
    /// The same with 90% writes.
    Wis,
    /// The same with 90% reads.
    Ris,
    /// Half reads, uniform over all pages.
    Mu,
    /// Zipf's law.
    Zipf,
    /// TPC-C, or one of its transactions alone.
    Tpcc(Option<Transaction>),
    /// A trace file.
    Trace(PathBuf),
}

impl FromStr for LoadKind {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let name = name.to_ascii_lowercase();
        Ok(match name.as_str() {
            "ms" => Self::Ms,
            "wis" => Self::Wis,
            "ris" => Self::Ris,
            "mu" => Self::Mu,
            "zipf" => Self::Zipf,
            "tpcc" => Self::Tpcc(None),
            other => {
                let wanted = other.strip_prefix("tpcc-");
                let found = Transaction::ALL
                    .into_iter()
                    .find(|kind| wanted == Some(kind.name().to_ascii_lowercase().as_str()));
                Self::Tpcc(Some(found.ok_or_else(|| {
                    format!(
                        "no workload is called '{other}'; there are ms, wis, ris, mu, zipf, tpcc, \
                         tpcc-new-order, tpcc-payment, tpcc-order-status, tpcc-delivery and \
                         tpcc-stock-level"
                    )
                })?))
            }
        })
    }
}

/// Parameters of loads; each load uses those that apply to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadConfig {
    /// Pages of generated loads. Default: 344,066 for a pool on a simulated device and 10,000 for
    /// tiers, as in the papers; for a pool on a file, all pages of the file.
    pub pages: Option<u64>,
    /// Accesses, at most those of a trace. Default of generated loads: 2,000,000 for a pool on a
    /// simulated device, 200,000 on a file, 1,000,000 for tiers.
    pub ops: Option<u64>,
    /// Seed of the loads.
    pub seed: u64,
    /// Share of reads (0 to 1) of generated loads, instead of their own.
    pub read_share: Option<f64>,
    /// Exponent of Zipf's law.
    pub skew: f64,
    /// How often the ranks of Zipf's law rotate through all pages during a load of tiers.
    pub drift: f64,
    /// Warehouses of TPC-C; default: as many as fit into `pages`.
    pub warehouses: Option<u64>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Format of the traces; default: by their file names.
    pub format: Option<TraceFormat>,
    /// Whether traces keep their page numbers; default: pages are numbered by first access.
    pub keep_numbers: bool,
}

impl Default for LoadConfig {
    fn default() -> Self {
        Self {
            pages: None,
            ops: None,
            seed: 1,
            read_share: None,
            skew: 0.99,
            drift: 0.1,
            warehouses: None,
            page_bytes: 4096,
            format: None,
            keep_numbers: false,
        }
    }
}

/// Pages and accesses of generated loads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub pages: u64,
    pub ops: u64,
}

/// A load with its size.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    kind: LoadKind,
    config: LoadConfig,
    sizes: Sizes,
    /// The name in tables.
    pub name: String,
    /// The name without a configured share of reads.
    pub name_plain: String,
    /// Every access is to a page below this.
    pub pages: u64,
    /// Accesses.
    pub ops: u64,
    /// Whether any access is a write.
    pub writes: bool,
}

/// An opened load.
pub(crate) type Ops = Box<dyn PageLoad<Item = cenote_workload::Result<PageOp>> + Send>;

impl Load {
    /// Determines the size of a load. A trace is read once.
    pub fn survey(
        kind: LoadKind,
        config: LoadConfig,
        sizes: Sizes,
        control: &Control<'_>,
    ) -> Result<Self> {
        let (name, name_plain) = Default::default();
        let Sizes { pages, ops } = sizes;
        let pages_max = i64::MAX as u64 / config.page_bytes.max(1);
        let fits = |pages: u64| {
            require(pages <= pages_max, || format!("{pages} pages: expected at most {pages_max}"))
        };
        fits(pages)?;
        let mut load = Self { kind, config, sizes, name, name_plain, pages, ops, writes: true };
        if let LoadKind::Trace(path) = load.kind.clone() {
            load.survey_trace(&path, control)?;
        } else {
            let opened = load.open()?;
            load.name_plain = opened.name();
            load.name = load.spell(opened.name());
            load.pages = opened.pages().unwrap_or(pages);
            let all_read = load.config.read_share == Some(1.0);
            load.writes = !all_read || matches!(load.kind, LoadKind::Tpcc(_));
        }
        require(load.ops > 0, || format!("{}: the load has no accesses", load.name))?;
        fits(load.pages)?;
        Ok(load)
    }

    /// Adds a configured share of reads to the name, so that names of rows differ.
    fn spell(&self, name: String) -> String {
        match (self.config.read_share, &self.kind) {
            (_, LoadKind::Tpcc(_)) | (None, _) => name,
            (Some(share), _) => format!("{name} {:.0}%R", share * 100.0),
        }
    }

    fn survey_trace(&mut self, path: &Path, control: &Control<'_>) -> Result<()> {
        let (mut ops, mut end, mut writes) = (0u64, 0, false);
        let limit = self.config.ops.unwrap_or(u64::MAX);
        let mut opened = self.open()?;
        self.name = opened.name();
        self.name_plain.clone_from(&self.name);
        while ops < limit {
            let Some(op) = opened.next() else { break };
            let op = op?;
            end = end.max(op.page + 1);
            writes |= op.write;
            ops += 1;
            if ops.is_multiple_of(1 << 16) {
                control.check()?;
            }
        }
        require(ops > 0, || format!("{}: the trace holds no accesses", path.display()))?;
        (self.pages, self.ops, self.writes) = (end, ops, writes);
        Ok(())
    }

    /// Opens the load at the first access; only `ops` accesses count.
    pub fn open(&self) -> Result<Ops> {
        let config = &self.config;
        let (pages, ops, seed) = (self.sizes.pages, self.ops, config.seed);
        let mix = |make: fn(u64, u64, u64) -> MixConfig| -> Result<Ops> {
            let mut mix = make(pages, ops, seed);
            mix.read_share = config.read_share.unwrap_or(mix.read_share);
            Ok(Box::new(Mix::new(mix)?))
        };
        match &self.kind {
            LoadKind::Ms => mix(MixConfig::ms),
            LoadKind::Wis => mix(MixConfig::wis),
            LoadKind::Ris => mix(MixConfig::ris),
            LoadKind::Mu => mix(MixConfig::mu),
            LoadKind::Zipf => {
                let (skew, read_share) = (config.skew, config.read_share.unwrap_or(0.5));
                let zipf = ZipfConfig::default()
                    .pages(pages)
                    .ops(ops)
                    .skew(skew)
                    .read_share(read_share)
                    .seed(seed);
                Ok(Box::new(Zipf::new(zipf)?))
            }
            LoadKind::Tpcc(only) => self.open_tpcc(*only),
            LoadKind::Trace(path) => {
                let trace = Trace::open(path, config.format, config.page_bytes)?;
                let ops: Ops =
                    if config.keep_numbers { Box::new(trace) } else { Box::new(Dense::new(trace)) };
                Ok(ops)
            }
        }
    }

    /// Opens TPC-C with enough transactions for `ops` accesses.
    fn open_tpcc(&self, only: Option<Transaction>) -> Result<Ops> {
        let LoadConfig { page_bytes, seed, warehouses, .. } = self.config;
        let by_pages = (self.sizes.pages.saturating_mul(page_bytes) / WAREHOUSE_BYTES).max(1);
        let tpcc = TpccConfig {
            warehouses: warehouses.unwrap_or(by_pages),
            transactions: SAMPLE,
            page_bytes,
            mix: only.map_or(TpccMix::STANDARD, TpccMix::only),
            seed,
        };
        let accesses = Tpcc::new(tpcc.clone())?.count().max(1) as u64;
        // Slightly more than needed on average; those after the last access are not generated.
        let transactions = (self.ops as f64 * SAMPLE as f64 / accesses as f64 * 1.05) as u64 + 100;
        Ok(Box::new(Tpcc::new(TpccConfig { transactions, ..tpcc })?))
    }

    /// Whether it is a trace with pages numbered by first access.
    pub fn renumbered(&self) -> bool {
        matches!(self.kind, LoadKind::Trace(_)) && !self.config.keep_numbers
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(kind: LoadKind, config: LoadConfig) -> Result<Load> {
        let sizes = Sizes { pages: 5_000, ops: 3_000 };
        Load::survey(kind, config, sizes, &Control::default())
    }

    #[test]
    fn every_generated_load_yields_what_its_survey_said() {
        for name in ["ms", "wis", "ris", "mu", "zipf", "tpcc", "tpcc-stock-level"] {
            let load = survey(name.parse().unwrap(), LoadConfig::default()).unwrap();
            let ops: Vec<PageOp> =
                load.open().unwrap().take(3_000).collect::<std::result::Result<_, _>>().unwrap();
            assert_eq!((ops.len() as u64, load.ops), (3_000, 3_000), "{name}");
            assert!(ops.iter().all(|op| op.page < load.pages), "{name}");
        }
    }

    #[test]
    fn a_load_of_reads_alone_is_known_to_write_nothing() {
        let reads = LoadConfig { read_share: Some(1.0), ..LoadConfig::default() };
        assert!(!survey(LoadKind::Ms, reads.clone()).unwrap().writes);
        assert!(survey(LoadKind::Tpcc(None), reads).unwrap().writes);
        assert!(survey(LoadKind::Ms, LoadConfig::default()).unwrap().writes);
    }

    #[test]
    fn a_trace_is_surveyed_and_renumbered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.txt");
        std::fs::write(&path, "R 900\nR 7\nR 900\n").unwrap();
        let load = survey(LoadKind::Trace(path.clone()), LoadConfig::default()).unwrap();
        assert_eq!((load.pages, load.ops, load.writes), (2, 3, false));
        let kept = LoadConfig { keep_numbers: true, ops: Some(2), ..LoadConfig::default() };
        let load = survey(LoadKind::Trace(path), kept).unwrap();
        assert_eq!((load.pages, load.ops, load.writes), (901, 2, false));
    }
}
