//! Measures single cells of a profile on an existing file, reads only:
//! `profile_cell FILE BYTES SECONDS DEPTH...` prints one JSON line per depth.
//!
//! `experiments/profile_vs_fio` runs it in turn with fio.

use std::path::Path;
use std::process::ExitCode;

use cenote_device::profile::{ProfileConfig, profile_path};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("profile_cell: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let [file, bytes, seconds, depths @ ..] = arguments else {
        return Err("usage: profile_cell FILE BYTES SECONDS DEPTH...".into());
    };
    for depth in depths {
        let config = ProfileConfig::full()
            .sizes(vec![bytes.parse()?])
            .depths(vec![depth.parse()?])
            .depths_sequential(Vec::new())
            .cell_seconds(seconds.parse()?)
            .repetitions(1)
            .warm_up_seconds(0.0);
        let profile = profile_path(Path::new(file), &config, None, &mut |_| true)?;
        println!("{}", serde_json::to_string(&profile.curves[0].points[0])?);
    }
    Ok(())
}
