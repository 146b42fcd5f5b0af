//! Keeps profiles by the identity of their device, and finds them again from any path on it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::data::{PROFILE_VERSION, Profile};
use super::identity::Identity;
use crate::error::{DeviceError, Result};

/// The profile of a drive, if there is one that can be used.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It was measured.
    Measured(Profile),
    /// [`Profile::assumed`] has to do.
    Assumed {
        /// What is wrong with the profile or its store; none if the drive was never measured.
        why: Option<String>,
    },
}

impl Found {
    /// The profile, or a cautious guess flagged as assumed, with a warning if something is wrong.
    pub fn or_assumed(self) -> Profile {
        match self {
            Self::Measured(profile) => profile,
            Self::Assumed { why } => {
                if let Some(why) = why {
                    tracing::warn!("{why}; an average drive is assumed");
                }
                Profile::assumed()
            }
        }
    }
}

/// The profile of the device that `path` lies on, from the user's store.
pub fn find(path: &Path) -> Found {
    match ProfileStore::of_user() {
        Ok(store) => store.find(path),
        Err(error) => Found::Assumed { why: Some(error.to_string()) },
    }
}

/// A directory of profiles.
#[derive(Clone, Debug)]
pub struct ProfileStore {
    directory: PathBuf,
}

impl ProfileStore {
    /// Profiles in a directory, which is made when the first one is saved.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The user's store: `$XDG_STATE_HOME/cenote/profiles` or `~/.local/state/cenote/profiles`.
    pub fn of_user() -> Result<Self> {
        let variable = |name| std::env::var_os(name).filter(|v: &OsString| !v.is_empty());
        Self::of_variables(variable("XDG_STATE_HOME"), variable("HOME"))
    }

    fn of_variables(state: Option<OsString>, home: Option<OsString>) -> Result<Self> {
        let state = state.map(PathBuf::from).filter(|p| p.is_absolute());
        let state = state.or_else(|| home.map(|home| PathBuf::from(home).join(".local/state")));
        match state {
            Some(state) => Ok(Self::at(state.join("cenote/profiles"))),
            None => Err(DeviceError::Profile {
                path: "~/.local/state/cenote/profiles".into(),
                reason: "no home directory is known: set HOME or XDG_STATE_HOME".into(),
            }),
        }
    }

    /// The file that holds a device's profile, whether it exists or not.
    pub fn path_of(&self, identity: &Identity) -> PathBuf {
        self.directory.join(format!("{}.json", identity.key))
    }

    /// Makes the directory and writes to it, so that a store that cannot be written is known before
    /// a profile is measured.
    ///
    /// # Errors
    /// [`DeviceError::File`] names the directory.
    pub fn prepare(&self) -> Result<()> {
        let probe = self.directory.join(format!(".{}.tmp", std::process::id()));
        let written = fs::create_dir_all(&self.directory)
            .and_then(|()| fs::write(&probe, "x"))
            .and_then(|()| fs::remove_file(&probe));
        written.map_err(|source| {
            let device = self.directory.display().to_string();
            DeviceError::File { device, action: "keep profiles in", source }
        })
    }

    /// Saves a profile under its identity, whole or not at all. Returns the file's path.
    pub fn save(&self, profile: &Profile) -> Result<PathBuf> {
        let path = self.path_of(&profile.identity);
        let file_error = |action| {
            let device = path.display().to_string();
            move |source: io::Error| DeviceError::File { device, action, source }
        };
        let mut text = serde_json::to_vec_pretty(profile)
            .map_err(|e| fault(&path, format!("cannot be written as JSON: {e}")))?;
        text.push(b'\n');
        fs::create_dir_all(&self.directory).map_err(file_error("make the directory of"))?;
        // The process id keeps two writers apart; the rename makes the whole file appear at once.
        let draft = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = fs::File::create(&draft)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&draft, &path));
        if let Err(source) = written {
            // The draft may not exist; the first fault is the one to tell.
            let _ = fs::remove_file(&draft);
            return Err(file_error("write")(source));
        }
        Ok(path)
    }

    /// The profile of the device that `path` lies on.
    pub fn find(&self, path: &Path) -> Found {
        match Identity::of_path(path).and_then(|identity| self.load(&identity)) {
            Ok(Some(profile)) => Found::Measured(profile),
            Ok(None) => Found::Assumed { why: None },
            Err(error) => Found::Assumed { why: Some(error.to_string()) },
        }
    }

    /// The profile of a device, if it was measured.
    pub fn load(&self, identity: &Identity) -> Result<Option<Profile>> {
        let path = self.path_of(identity);
        match fs::read(&path) {
            Ok(text) => parse(&path, &text).map(Some),
            Err(missing) if is_missing(&missing) => Ok(None),
            Err(source) => {
                let device = path.display().to_string();
                Err(DeviceError::File { device, action: "read", source })
            }
        }
    }
}

/// Whether there is no such file: a store below something that is no directory holds none.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads a profile's JSON, and says what to do about one that cannot be used.
fn parse(path: &Path, text: &[u8]) -> Result<Profile> {
    const REMEDY: &str = "delete it and run `cenote profile` again";
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    let broken = |e: serde_json::Error| fault(path, format!("is damaged ({e}): {REMEDY}"));
    let Version { version } = serde_json::from_slice(text).map_err(broken)?;
    if version > PROFILE_VERSION {
        let reason = format!(
            "is of version {version}, newer than {PROFILE_VERSION}, which this program reads: use \
             a newer cenote, or {REMEDY}"
        );
        return Err(fault(path, reason));
    }
    let profile: Profile = serde_json::from_slice(text).map_err(broken)?;
    match profile.fault() {
        Some(reason) => Err(fault(path, format!("is unusable, {reason}: {REMEDY}"))),
        None => Ok(profile),
    }
}

fn fault(path: &Path, reason: String) -> DeviceError {
    DeviceError::Profile { path: path.display().to_string(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, ProfileStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = ProfileStore::at(dir.path().join("state/profiles"));
        (dir, store)
    }

    fn measured_at(path: &Path) -> Profile {
        Profile { identity: Identity::of_path(path).unwrap(), ..Profile::assumed() }
    }

    #[test]
    fn a_saved_profile_is_found_from_any_path_on_the_device() {
        let (dir, store) = store();
        assert_eq!(store.find(dir.path()), Found::Assumed { why: None });
        assert!(store.find(dir.path()).or_assumed().assumed);
        let path = store.save(&measured_at(dir.path())).unwrap();
        let Found::Measured(found) = store.find(&dir.path().join("some/graph.cenote")) else {
            panic!("it was measured");
        };
        assert_eq!(found.sizes.len(), Profile::assumed().sizes.len());
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "a draft was left: {names:?}");
    }

    #[test]
    fn saving_again_replaces_the_profile() {
        let (dir, store) = store();
        let mut profile = measured_at(dir.path());
        store.save(&profile).unwrap();
        profile.conditions.notes.push("second".into());
        store.save(&profile).unwrap();
        let found = store.find(dir.path()).or_assumed();
        assert!(found.conditions.notes.contains(&"second".to_owned()));
    }

    #[test]
    fn damaged_and_newer_and_unreadable_profiles_are_assumed_and_the_reason_has_a_remedy() {
        let (dir, store) = store();
        let path = store.save(&measured_at(dir.path())).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let broken = [
            (good[..good.len() / 2].to_owned(), "damaged"),
            (String::new(), "damaged"),
            ("[]".to_owned(), "damaged"),
            (good.replacen("\"version\": 1", "\"version\": 2", 1), "newer"),
            (good.replacen("\"read_iops_max\": ", "\"read_iops_max\": -", 1), "not positive"),
        ];
        for (text, expected) in broken {
            fs::write(&path, text).unwrap();
            let Found::Assumed { why: Some(message) } = store.find(dir.path()) else {
                panic!("a {expected} profile is used");
            };
            assert!(message.contains(expected) && message.contains("cenote profile"), "{message}");
            assert!(message.contains(path.to_str().unwrap()), "{message}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(store.find(dir.path()), Found::Assumed { why: Some(_) }));
    }

    #[test]
    fn a_store_that_cannot_be_written_names_its_path() {
        let (dir, _) = store();
        fs::write(dir.path().join("file"), "x").unwrap();
        let store = ProfileStore::at(dir.path().join("file/profiles"));
        for error in [store.save(&measured_at(dir.path())).map(drop), store.prepare()] {
            let error = error.unwrap_err();
            assert!(error.to_string().contains("file/profiles"), "{error}");
        }
        assert_eq!(store.find(dir.path()), Found::Assumed { why: None }, "HOME=/dev/null");
    }

    #[test]
    fn the_users_store_follows_the_environment() {
        let of = |state: Option<&str>, home: Option<&str>| {
            ProfileStore::of_variables(state.map(Into::into), home.map(Into::into))
                .map(|s| s.directory)
        };
        assert_eq!(of(Some("/s"), Some("/h")).unwrap(), Path::new("/s/cenote/profiles"));
        let at_home = Path::new("/h/.local/state/cenote/profiles");
        assert_eq!(of(None, Some("/h")).unwrap(), at_home);
        assert_eq!(of(Some("relative"), Some("/h")).unwrap(), at_home);
        assert!(of(None, None).unwrap_err().to_string().contains("XDG_STATE_HOME"));
    }
}
