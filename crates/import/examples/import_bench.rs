//! Times one import and prints its report as JSON.
//!
//! ```text
//! cargo run --release --example import_bench -- INPUT OUT [MEMORY_MIB] [THREADS] [FLAG...]
//! ```
//! Flags: `directed`, `in-edges`, `keep-duplicates`, `keep-self-loops`, or the name of a format.

use std::error::Error;
use std::path::Path;

use cenote_import::{Format, ImportConfig, InputSpec, NoProgress, import};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, out, rest @ ..] = &args[..] else {
        return Err("usage: import_bench INPUT OUT [MEMORY_MIB] [THREADS] [FLAG...]".into());
    };
    let number = |at: usize, default: usize| rest.get(at).map_or(Ok(default), |text| text.parse());
    let flags = rest.get(2..).unwrap_or_default();
    let has = |flag: &str| flags.iter().any(|known| known == flag);
    let config = ImportConfig::default()
        .memory_bytes(number(0, 1024)? << 20)
        .threads(number(1, 0)?)
        .directed(has("directed"))
        .in_edges(has("in-edges"))
        .keep_duplicates(has("keep-duplicates"))
        .keep_self_loops(has("keep-self-loops"))
        .overwrite(true);
    let format = flags.iter().find_map(|flag| Format::of_name(flag));
    let spec = InputSpec { format, ..InputSpec::new(input) };
    let report = import(&[spec], Path::new(out), &config, &NoProgress)?;
    println!("{report:#?}");
    let peak = std::fs::read_to_string("/proc/self/status")?;
    let peak = peak.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("{peak}");
    println!(
        "{:.1} M input edges/s, {:.0} MB/s of input",
        report.input_edges as f64 / report.seconds / 1e6,
        report.input_bytes as f64 / report.seconds / 1e6
    );
    Ok(())
}
