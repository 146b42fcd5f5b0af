//! What a report was measured on.

use cenote_device::threads::cores;
use serde::Serialize;

use super::format::utc;
use super::page::fact;
use crate::memory::{machine_bytes, size};

/// The machine, as the system describes it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// Name of the processor, if the system knows it.
    pub processor: Option<String>,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory that this process may use, in bytes.
    pub memory_bytes: Option<u64>,
    /// Name and release of the system.
    pub system: String,
    /// Version of Cenote.
    pub cenote: &'static str,
    /// Seconds since 1970.
    pub unix_seconds: u64,
}

impl Machine {
    /// This machine, now.
    pub fn here() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = cpus.lines().find_map(|line| line.strip_prefix("model name"));
        let processor = processor.and_then(|line| line.split_once(':'));
        let kernel = ["ostype", "osrelease"].map(|name| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            text.unwrap_or_default().trim().to_owned()
        });
        Self {
            processor: processor.map(|(_, name)| name.trim().to_owned()),
            cores: cores(),
            memory_bytes: machine_bytes(),
            system: format!("{} {}", kernel.join(" "), std::env::consts::ARCH),
            cenote: env!("CARGO_PKG_VERSION"),
            unix_seconds: now.map_or(0, |since| since.as_secs()),
        }
    }

    /// Names and values for a page.
    pub fn facts(&self) -> Vec<(String, String)> {
        let cores = match self.cores {
            1 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        };
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        let mut facts = vec![fact("processor", format!("{processor}, {cores}"))];
        facts.extend(self.memory_bytes.map(|bytes| fact("memory", size(bytes))));
        facts.push(fact("system", self.system.clone()));
        facts.push(fact("cenote", self.cenote));
        facts.push(fact("time", utc(self.unix_seconds)));
        facts
    }
}
