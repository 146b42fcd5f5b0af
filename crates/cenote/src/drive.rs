//! The profile and the I/O budget of a drive.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_device::backend::file::{self, BackendChoice};
pub use cenote_device::profile::Saved;
use cenote_device::profile::{Profile, ProfileConfig, ProfileStore, profile_path};
use cenote_device::wrapper::{BudgetDevice, IoBudget};
use cenote_device::{Device, DeviceError, Op, setters};

use crate::error::{Error, Result};

/// The request size whose k_r and k_w are a drive's budget.
const PAGE_BYTES_USUAL: u64 = 4096;

/// The fewest reads in flight of a budget, since a run on a shared drive may need a larger depth
/// than the k_r of the profile.
const READS_MIN: usize = 128;

/// A condition that a caller should know and that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The drive of the file has no profile.
    NotProfiled {
        /// The file.
        path: PathBuf,
    },
    /// The profile of the drive, or the folder of profiles, cannot be used.
    ProfileUnusable {
        /// The reason and the remedy.
        reason: String,
    },
    /// The unused commit slot is damaged. If it held a newer commit, that is lost.
    DamagedSlot {
        /// The damage.
        fault: String,
        /// The epoch of the graph as it was opened.
        epoch: u64,
    },
    /// The log ends with a part of a commit: a crash during the commit leaves one, before it is
    /// durable; damage to the last commit looks the same.
    CutLog {
        /// Where, and what is wrong.
        fault: String,
    },
    /// The file system refuses locks, so a writer elsewhere would not see this reader. No writer of
    /// this library changes such a graph.
    NotLocked {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProfiled { path } => write!(
                f,
                "no profile of the drive under {}: reads are planned for an assumed one; \
                 `cenote profile --quick DIR` measures it in 20 seconds",
                path.display()
            ),
            Self::ProfileUnusable { reason } => {
                write!(f, "{reason}; reads are planned for an assumed drive")
            }
            Self::DamagedSlot { fault, epoch } => {
                write!(f, "{fault}; the graph is as of epoch {epoch}: a newer commit may be lost")
            }
            Self::CutLog { fault } => write!(
                f,
                "{fault}; the graph has all commits before this one, the last: a crash during a \
                 commit leaves a part of it, and damage to it would look the same"
            ),
            Self::NotLocked { path, reason } => {
                write!(f, "{}: cannot lock it while it is read: {reason}", path.display())
            }
        }
    }
}

/// How a drive is measured.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MeasureOptions {
    /// 20 seconds instead of minutes.
    pub quick: bool,
    /// Bytes of the scratch file [1 GiB, or half of the free space].
    pub scratch_bytes: Option<u64>,
    /// Whether a profile that was measured on a busy machine replaces a saved one that is calmer.
    pub replace: bool,
}

impl MeasureOptions {
    setters! { quick: bool, scratch_bytes: Option<u64>, replace: bool }
}

/// Measures the drive under `path`, a directory, in which a scratch file is written and removed
/// afterwards, and saves its profile for later runs of this user; or a file or a device, which is
/// only read. `progress` is called with the steps done and all of them, as far as known, and ends
/// the measurement by returning false. Returns the profile, and what became of it: `None` for a
/// file, whose profile is not that of its drive; [`Saved::Kept`] where the machine was busy and
/// the saved profile is calmer.
///
/// # Errors
/// [`Error::Cancelled`] if `progress` ended it; the profile cannot be saved, which is found before
/// anything is measured; the drive fails.
pub fn measure(
    path: impl AsRef<Path>,
    options: &MeasureOptions,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<(Profile, Option<Saved>)> {
    let path = path.as_ref();
    let config = if options.quick { ProfileConfig::quick() } else { ProfileConfig::full() };
    let store = if path.is_file() { None } else { Some(ProfileStore::of_user()?) };
    store.iter().try_for_each(ProfileStore::check_writable)?;
    let mut goes_on = true;
    let measured = profile_path(path, &config, options.scratch_bytes, &mut |step| {
        goes_on = goes_on && progress(step.done, step.total);
        goes_on
    });
    match measured {
        Err(_) if !goes_on => Err(Error::Cancelled),
        measured => {
            let profile = measured?;
            let saved = store.map(|store| match options.replace {
                true => store.save(&profile).map(Saved::At),
                false => store.save_if_calm(&profile),
            });
            let saved = saved.transpose()?;
            Ok((profile, saved))
        }
    }
}

/// How files of graphs are opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DriveOptions {
    /// The system interface for I/O.
    pub backend: BackendChoice,
    /// The profile for all drives; unset: the user's profile of each drive.
    pub profile: Option<Profile>,
}

impl DriveOptions {
    setters! { backend: BackendChoice, profile: Option<Profile> }

    /// For [`file::open`].
    pub(crate) fn files(&self, read_only: bool) -> file::OpenOptions {
        file::OpenOptions::default().read_only(read_only).backend(self.backend)
    }

    /// Opens a file whose requests share the budget of its drive.
    pub(crate) fn open(&self, path: &Path, read_only: bool) -> Result<FileOnDrive> {
        let device = file::open(path, &self.files(read_only))?;
        let drive = Drive::find(path, self.profile.as_ref())?;
        let budget = drive.budget();
        let device = Arc::new(BudgetDevice::new(device, Arc::clone(&budget)));
        Ok(FileOnDrive { device, drive, budget })
    }
}

/// An open file and its drive.
pub(crate) struct FileOnDrive {
    pub device: Arc<dyn Device>,
    pub drive: Drive,
    /// Shared by all users of the drive.
    pub budget: Arc<IoBudget>,
}

/// The drive of a file: measured or assumed.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The profile for planning requests.
    pub profile: Profile,
    /// What is missing or wrong with the profile.
    pub warning: Option<Warning>,
}

impl Drive {
    /// The drive of `path`: with the `given` profile, the user's profile of it, or an assumed one.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn find(path: &Path, given: Option<&Profile>) -> Result<Self> {
        if let Some(profile) = given {
            return Ok(Self { profile: profile.clone(), warning: None });
        }
        let found = match ProfileStore::of_user().and_then(|store| store.find(path)) {
            Ok(Some(profile)) => return Ok(Self { profile, warning: None }),
            Ok(None) => Warning::NotProfiled { path: path.to_owned() },
            Err(error) => {
                // The error may be that the file itself is missing.
                path.metadata().map_err(|source| DeviceError::File {
                    device: path.display().to_string(),
                    action: "open",
                    source,
                })?;
                Warning::ProfileUnusable { reason: error.to_string() }
            }
        };
        Ok(Self { profile: Profile::assumed(), warning: Some(found) })
    }

    /// The budget that all users of the drive share: k_r reads and k_w writes in flight.
    pub fn budget(&self) -> Arc<IoBudget> {
        let model = self.profile.model();
        let reads = model.channels(Op::Read, PAGE_BYTES_USUAL) as usize;
        let writes = model.channels(Op::Write, PAGE_BYTES_USUAL) as usize;
        IoBudget::new(reads.max(READS_MIN), writes)
    }
}
