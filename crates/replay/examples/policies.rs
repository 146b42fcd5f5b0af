//! What a pool gains by ACE's writer on a simulated SSD, and tiers by a policy that moves pages:
//! `cargo run -p cenote-replay --example policies`.

use cenote_replay::{
    Control, PoolReplayConfig, Result, TierReplayConfig, pool_replay, tier_replay,
};

/// For each replacement policy, how many times faster ACE's writer is than the classical one.
fn speedups() -> Result<Vec<(&'static str, f64)>> {
    let mut config = PoolReplayConfig::new("sim:p4510");
    config.loads = vec![cenote_replay::load::LoadKind::Ms];
    (config.load.pages, config.load.ops) = (Some(10_000), Some(50_000));
    let rows = pool_replay(&config, Control::default())?.rows.into_iter();
    let ace = rows.filter(|row| row.writer == "ace");
    Ok(ace.map(|row| (row.policy, row.speedup.unwrap_or(1.0))).collect())
}

/// For each migration policy, the seconds that a load of hot pages takes.
fn seconds() -> Result<Vec<(String, f64)>> {
    let mut config = TierReplayConfig::default();
    config.loads = vec![cenote_replay::tier::load::TierLoadKind::Phases("5hf90".to_owned())];
    (config.load.ops, config.cpu_ops) = (Some(50_000), 0);
    let rows = tier_replay(&config, Control::default())?.rows.into_iter();
    Ok(rows.map(|row| (row.policy, row.runtime_s)).collect())
}

fn main() -> Result<()> {
    for (policy, speedup) in speedups()? {
        println!("{policy:12} {speedup:.2} times faster with ACE");
    }
    for (policy, seconds) in seconds()? {
        println!("{policy:12} {seconds:.3} s on three tiers");
    }
    Ok(())
}

#[test]
fn ace_is_faster_and_moving_pages_pays() {
    let speedups = speedups().expect("replayed");
    assert!(speedups.len() > 3 && speedups.iter().all(|(_, speedup)| *speedup > 1.0));
    let seconds = seconds().expect("replayed");
    let of = |name: &str| seconds.iter().find(|(policy, _)| policy == name).expect(name).1;
    assert!(of("tlru") < of("static"), "{seconds:?}");
}
