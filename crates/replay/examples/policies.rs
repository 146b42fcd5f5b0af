//! What each replacement policy gains by ACE's writer, on a simulated SSD, and what each migration
//! policy gains on three tiers.

use cenote_replay::{Control, PoolReplayConfig, TierReplayConfig, pool_replay, tier_replay};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = PoolReplayConfig::new("sim:p4510");
    config.loads = vec!["ms".parse()?];
    (config.load.pages, config.load.ops) = (Some(10_000), Some(50_000));
    for row in pool_replay(&config, Control::default())?.rows {
        let speedup = row.speedup.unwrap_or(1.0);
        println!("{:10} {:10} {:.3} s, {speedup:.2} x", row.policy, row.writer, row.seconds);
    }
    let mut config = TierReplayConfig::default();
    config.loads = vec!["5hf90".parse()?];
    config.policies = vec!["static".parse()?, "tlru".parse()?];
    (config.load.ops, config.cpu_ops) = (Some(50_000), 0);
    for row in tier_replay(&config, Control::default())?.rows {
        println!("{:10} {:.3} s, {} pages moved up", row.policy, row.runtime_s, row.migrations);
    }
    Ok(())
}
