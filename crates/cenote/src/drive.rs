//! What is known of a drive, and what its users share.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_device::backend::file::{self, BackendChoice};
use cenote_device::profile::{Profile, ProfileStore};
use cenote_device::wrapper::{BudgetDevice, IoBudget};
use cenote_device::{Device, DeviceError, Op};

use crate::error::Result;

/// The size of request whose k_r and k_w are a drive's budget. Larger requests need fewer.
const PAGE_BYTES_USUAL: u64 = 4096;

/// Reads in flight that the budget allows at least: a run corrects its depth by what it meets,
/// which on a shared drive may be more than the k_r of a calm hour.
const READS_MIN: usize = 128;

/// Something that a caller should know and that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The drive under the file was never measured.
    NotProfiled {
        /// The file.
        path: PathBuf,
    },
    /// There is a profile of the drive, or a place for it, that cannot be used.
    ProfileUnusable {
        /// Why, and what would do.
        reason: String,
    },
    /// The commit slot that is not in use is damaged. If it held a newer commit, that is lost.
    DamagedSlot {
        /// What is wrong with it.
        fault: String,
        /// The epoch of the graph as it was opened.
        epoch: u64,
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
        }
    }
}

/// How files of graphs are opened, and by which profile requests to them are planned.
#[derive(Clone, Debug, Default)]
pub struct DriveOptions {
    /// Which system interface moves the bytes.
    pub backend: BackendChoice,
    /// The profile of every drive; where it is not set, the one that was measured of the drive.
    pub profile: Option<Profile>,
}

impl DriveOptions {
    /// For [`file::open`].
    pub(crate) fn files(&self, read_only: bool) -> file::OpenOptions {
        file::OpenOptions { read_only, backend: self.backend, ..file::OpenOptions::default() }
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

/// An open file and what is known of its drive.
pub(crate) struct FileOnDrive {
    pub device: Arc<dyn Device>,
    pub drive: Drive,
    /// What all users of the drive share.
    pub budget: Arc<IoBudget>,
}

/// The drive under a file: measured or assumed.
#[derive(Clone, Debug)]
pub struct Drive {
    /// By which requests are planned.
    pub profile: Profile,
    /// What is missing or wrong with it.
    pub warning: Option<Warning>,
}

impl Drive {
    /// The drive under `path`: as `given`, else as the user's profile of it says, else assumed.
    ///
    /// # Errors
    /// There is no such path.
    pub fn find(path: &Path, given: Option<&Profile>) -> Result<Self> {
        if let Some(profile) = given {
            return Ok(Self { profile: profile.clone(), warning: None });
        }
        let found = match ProfileStore::of_user().and_then(|store| store.find(path)) {
            Ok(Some(profile)) => return Ok(Self { profile, warning: None }),
            Ok(None) => Warning::NotProfiled { path: path.to_owned() },
            Err(error) => {
                // The file itself may be what is missing.
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

    /// What all users of the drive may have in flight together: k_r and k_w requests.
    pub fn budget(&self) -> Arc<IoBudget> {
        let model = self.profile.model();
        let reads = model.channels(Op::Read, PAGE_BYTES_USUAL) as usize;
        let writes = model.channels(Op::Write, PAGE_BYTES_USUAL) as usize;
        IoBudget::new(reads.max(READS_MIN), writes)
    }
}
