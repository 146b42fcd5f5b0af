//! Devices of replays: simulated, a file or a block device.

use std::fs::OpenOptions as OpenOptionsOfStd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::model::{DeviceModel, Pio};
use cenote_device::profile::ProfileStore;

use crate::error::{ReplayError, Result, file_error, require};

/// Prefix of the names of simulated devices.
const SIMULATED: &str = "sim:";

/// Suffix for the ideal device with a preset's parameters.
const IDEAL: &str = "-ideal";

/// Latency of a read of `sim:ideal`, where only ratios matter.
const IDEAL_READ_US: f64 = 100.0;

/// Default parameters of `sim:ideal`.
const ALPHA: f64 = 8.0;
const K: u32 = 8;

/// A device of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The name as given.
    pub name: String,
    /// Its performance: simulated, measured or assumed.
    pub model: DeviceModel,
    /// alpha of PIO for a page.
    pub alpha: f64,
    /// Whether the drive was not measured.
    pub assumed: bool,
    file: Option<Arc<dyn Device>>,
}

/// Parameters that replace those of an ideal device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ideal {
    /// Cost of a write in reads.
    pub alpha: Option<f64>,
    /// Reads that run in the time of one.
    pub k_r: Option<u32>,
    /// Writes that run in the time of one.
    pub k_w: Option<u32>,
}

/// Permission to write to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// The file is only read.
    Read,
    /// Its bytes may be replaced.
    Overwrite,
}

impl Target {
    /// Whether `device` names a simulated device.
    pub fn is_simulated_name(device: &str) -> bool {
        device.starts_with(SIMULATED)
    }

    /// A simulated device by its name: `sim:PRESET`, `sim:PRESET-ideal` or `sim:ideal`.
    pub fn simulated(device: &str, page_bytes: u64, ideal: Ideal) -> Result<Self> {
        let name = device.strip_prefix(SIMULATED).unwrap_or(device);
        let model = if name.eq_ignore_ascii_case("ideal") {
            let pio = ideal.over(Pio::new(0, K, K, ALPHA))?;
            DeviceModel::pio("ideal", page_bytes, IDEAL_READ_US, &pio)
        } else if let Some(preset) = Preset::by_name(name) {
            require(ideal == Ideal::default(), || {
                format!(
                    "{device} is as it was measured: `alpha`, `k`, `k_r` and `k_w` are for ideal \
                     devices, such as {device}{IDEAL}"
                )
            })?;
            preset.model()
        } else if let Some(preset) = name.strip_suffix(IDEAL).and_then(Preset::by_name) {
            let size = preset.model().at(page_bytes);
            let pio = ideal.over(size.pio(0))?;
            DeviceModel::pio(name, page_bytes, size.read_us_qd1, &pio)
        } else {
            let names: Vec<&str> = Preset::all().iter().map(|preset| preset.name).collect();
            return Err(ReplayError::Config(format!(
                "no simulated device is called '{name}'; there are sim:ideal and sim: with {}, \
                 each also with {IDEAL} behind",
                names.join(", ")
            )));
        };
        let alpha = model.at(page_bytes).alpha;
        Ok(Self { name: device.to_owned(), model, alpha, assumed: false, file: None })
    }

    /// An existing file or block device, with the profile of its drive.
    pub fn file(path: &Path, page_bytes: u64, permission: Permission) -> Result<Self> {
        let options = match permission {
            Permission::Read => OpenOptions::reading(),
            Permission::Overwrite => OpenOptions::default(),
        };
        if permission == Permission::Overwrite {
            refuse_in_use(path)?;
        }
        let device = file::open(path, &options)?;
        let profile = ProfileStore::of_user()?.find_or_assume(path)?;
        if profile.assumed {
            tracing::warn!(
                "no profile of the drive under {}: n_w and the predictions are those of an \
                 assumed one; `cenote profile --quick DIR` measures it in 20 seconds",
                path.display()
            );
        }
        let model = profile.model();
        // The measured alpha is a ratio of bandwidths, PIO's alpha one of times.
        let alpha = model.at(page_bytes).alpha_batch();
        let name = path.display().to_string();
        Ok(Self { name, model, alpha, assumed: profile.assumed, file: Some(device) })
    }

    /// Whether time is virtual.
    pub fn is_simulated(&self) -> bool {
        self.file.is_none()
    }

    /// The device for one replay; a simulated one is created with `bytes`.
    pub fn device(&self, bytes: u64) -> Result<Arc<dyn Device>> {
        if let Some(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let device = SimDevice::new(SimConfig::timing_only(self.model.clone()));
        device.set_len(bytes)?;
        Ok(Arc::new(device))
    }
}

/// Refuses a block device that is mounted or part of another: Linux does not open it exclusively.
fn refuse_in_use(path: &Path) -> Result<()> {
    let Ok(metadata) = path.metadata() else { return Ok(()) };
    if !metadata.file_type().is_block_device() {
        return Ok(());
    }
    let opened = OpenOptionsOfStd::new().read(true).custom_flags(libc::O_EXCL).open(path);
    opened.map(drop).map_err(file_error(path, "overwrite a block device in use: unmount"))
}

impl Ideal {
    fn over(self, pio: Pio) -> Result<Pio> {
        let alpha = self.alpha.unwrap_or(pio.alpha);
        let (k_r, k_w) = (self.k_r.unwrap_or(pio.k_r), self.k_w.unwrap_or(pio.k_w));
        require((0.001..=1000.0).contains(&alpha), || {
            format!("alpha is {alpha:?}: expected 0.001 to 1000")
        })?;
        for (name, k) in [("k_r", k_r), ("k_w", k_w)] {
            require((1..=K_MAX).contains(&k), || format!("{name} is {k}: expected 1 to {K_MAX}"))?;
        }
        Ok(Pio::new(0, k_r, k_w, alpha))
    }
}

/// The greatest concurrency that fits the pool's queues of at most 4,096 requests.
const K_MAX: u32 = 1024;

#[cfg(test)]
mod tests {
    use cenote_device::model::Timing;

    use super::*;

    #[test]
    fn simulated_devices_have_the_parameters_of_their_names() {
        let of = |name, ideal| Target::simulated(name, 4096, ideal).unwrap();
        let optane = of("sim:optane-p4800x", Ideal::default());
        assert_eq!((optane.alpha, optane.model.timing), (1.1, Timing::Curve));
        let ideal = of("sim:P4510-ideal", Ideal { alpha: Some(4.0), ..Ideal::default() });
        let size = ideal.model.at(4096);
        assert_eq!((size.k_w, size.k_r, ideal.alpha), (8, 80, 4.0));
        let ideal = of("sim:ideal", Ideal { k_w: Some(3), ..Ideal::default() });
        assert_eq!((ideal.model.at(4096).k_w, ideal.alpha), (3, ALPHA));
    }

    #[test]
    fn impossible_devices_are_refused() {
        for (name, ideal, words) in [
            ("sim:floppy", Ideal::default(), "floppy"),
            ("sim:p4510", Ideal { alpha: Some(2.0), ..Ideal::default() }, "sim:p4510-ideal"),
            ("sim:ideal", Ideal { alpha: Some(f64::NAN), ..Ideal::default() }, "alpha is NaN"),
            ("sim:ideal", Ideal { k_w: Some(0), ..Ideal::default() }, "k_w is 0"),
            ("sim:ideal", Ideal { k_r: Some(9999), ..Ideal::default() }, "k_r is 9999"),
        ] {
            let message = Target::simulated(name, 4096, ideal).unwrap_err().to_string();
            assert!(message.contains(words), "{name}: {message}");
        }
    }
}
