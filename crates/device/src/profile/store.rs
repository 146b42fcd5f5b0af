//! A directory of profiles, found by the identity of a path's device.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::calm::Calm;
use super::data::{PROFILE_VERSION, Profile};
use super::identity::Identity;
use crate::error::{DeviceError, Result};
use crate::small_file;

/// More than any profile has: about 20 KiB.
const PROFILE_BYTES_MAX: u64 = 16 << 20;

/// What became of a measured profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// It is in this file.
    At(PathBuf),
    /// The profile in this file is calmer, and is still the one that runs use.
    Kept {
        /// The file of the saved profile.
        path: PathBuf,
        /// How calm the saved one was.
        saved: Calm,
        /// How calm the measured one was: busy.
        measured: Calm,
    },
}

impl Saved {
    /// The file of the profile, if it was saved.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::Kept { .. } => None,
        }
    }
}

/// One line: the file, or why the profile was not saved.
impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(path) => write!(f, "saved: {}", path.display()),
            Self::Kept { path, saved, measured } => write!(
                f,
                "not saved: the machine was busy ({measured}), and the profile in {} is calmer \
                 ({saved})",
                path.display()
            ),
        }
    }
}

/// A directory of profiles. Without a home directory the user's store finds and saves nothing.
#[derive(Clone, Debug)]
pub struct ProfileStore {
    directory: Option<PathBuf>,
}

impl ProfileStore {
    /// Profiles in a directory, which is created when the first one is saved.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()) }
    }

    /// The user's store: `$XDG_STATE_HOME/cenote/profiles` or `~/.local/state/cenote/profiles`.
    pub fn of_user() -> Result<Self> {
        let variable = |name| std::env::var_os(name).filter(|v: &OsString| !v.is_empty());
        Ok(Self::of_variables(variable("XDG_STATE_HOME"), variable("HOME")))
    }

    fn of_variables(state: Option<OsString>, home: Option<OsString>) -> Self {
        let state = state.map(PathBuf::from).filter(|p| p.is_absolute());
        let state = state.or_else(|| home.map(|home| PathBuf::from(home).join(".local/state")));
        Self { directory: state.map(|state| state.join("cenote/profiles")) }
    }

    /// The file of a device's profile, whether it exists or not.
    pub fn path_of(&self, identity: &Identity) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{}.json", identity.key)))
    }

    fn directory(&self) -> Result<&Path> {
        self.directory.as_deref().ok_or_else(|| {
            let reason = "no home directory is known: set HOME or XDG_STATE_HOME";
            DeviceError::profile("~/.local/state/cenote/profiles", reason)
        })
    }

    /// Checks that a profile can be saved, before hours of measuring: creates the directory and a
    /// file in it, which is removed at once.
    pub fn check_writable(&self) -> Result<()> {
        let directory = self.directory()?;
        fs::create_dir_all(directory).map_err(DeviceError::file(directory.display(), "make"))?;
        let draft = directory.join(format!("check-{}.tmp", std::process::id()));
        let written = fs::File::create(&draft).and_then(|_| fs::remove_file(&draft));
        written.map_err(DeviceError::file(directory.display(), "write profiles in"))
    }

    /// Saves a profile under its identity, atomically. Returns the file's path.
    pub fn save(&self, profile: &Profile) -> Result<PathBuf> {
        let directory = self.directory()?;
        let path = directory.join(format!("{}.json", profile.identity.key));
        let mut text = serde_json::to_vec_pretty(profile).map_err(|e| {
            DeviceError::profile(path.display(), format!("cannot be written as JSON: {e}"))
        })?;
        text.push(b'\n');
        fs::create_dir_all(directory)
            .map_err(DeviceError::file(path.display(), "make the directory of"))?;
        // The process id keeps two writers apart; the rename is atomic.
        let draft = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = fs::File::create(&draft)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&draft, &path));
        if let Err(source) = written {
            // The draft may not exist; the first error is reported.
            let _ = fs::remove_file(&draft);
            return Err(DeviceError::file(path.display(), "write")(source));
        }
        Ok(path)
    }

    /// Saves a profile under its identity, unless it was measured on a busy machine
    /// ([`Calm::busy`]) and the saved one is calmer. A saved profile that cannot be used is
    /// replaced.
    pub fn save_if_calm(&self, profile: &Profile) -> Result<Saved> {
        let measured = profile.calm();
        let before = self.load(&profile.identity).ok().flatten().map(|before| before.calm());
        match (before, self.path_of(&profile.identity)) {
            (Some(saved), Some(path))
                if measured.busy && saved.disturbance() < measured.disturbance() =>
            {
                Ok(Saved::Kept { path, saved, measured })
            }
            _ => self.save(profile).map(Saved::At),
        }
    }

    /// The profile of the device that `path` lies on, if it was measured.
    pub fn find(&self, path: &Path) -> Result<Option<Profile>> {
        self.load(&Identity::of_path(path)?)
    }

    /// The profile of a device, if it was measured.
    pub fn load(&self, identity: &Identity) -> Result<Option<Profile>> {
        use io::ErrorKind::{NotADirectory, NotFound};
        let Some(path) = self.path_of(identity) else { return Ok(None) };
        match small_file::read(&path, PROFILE_BYTES_MAX) {
            Ok(text) => parse(&path, &text).map(Some),
            Err(missing) if matches!(missing.kind(), NotFound | NotADirectory) => Ok(None),
            Err(source) => Err(DeviceError::file(path.display(), "read")(source)),
        }
    }

    /// The profile of the device that `path` lies on, or a cautious guess, flagged as assumed, if
    /// there is none or, with a warning, it cannot be used.
    ///
    /// # Errors
    /// Where `path` leads to no device.
    pub fn find_or_assume(&self, path: &Path) -> Result<Profile> {
        let found = self.load(&Identity::of_path(path)?).unwrap_or_else(|fault| {
            tracing::warn!("a profile is not used: {fault}");
            None
        });
        Ok(found.unwrap_or_else(Profile::assumed))
    }
}

/// Parses a profile's JSON; the errors name a remedy.
fn parse(path: &Path, text: &[u8]) -> Result<Profile> {
    const REMEDY: &str = "delete it and run `cenote profile` again";
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    let broken = |e: serde_json::Error| {
        DeviceError::profile(path.display(), format!("is damaged ({e}): {REMEDY}"))
    };
    let Version { version } = serde_json::from_slice(text).map_err(broken)?;
    if version > PROFILE_VERSION {
        let reason = format!(
            "is of version {version}, newer than {PROFILE_VERSION}, which this program reads: use \
             a newer cenote, or {REMEDY}"
        );
        return Err(DeviceError::profile(path.display(), reason));
    }
    let profile: Profile = serde_json::from_slice(text).map_err(broken)?;
    match profile.fault() {
        Some(reason) => {
            Err(DeviceError::profile(path.display(), format!("is unusable, {reason}: {REMEDY}")))
        }
        None => Ok(profile),
    }
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
        assert_eq!(store.find(dir.path()).unwrap(), None);
        assert!(store.find_or_assume(dir.path()).unwrap().assumed);
        let path = store.save(&measured_at(dir.path())).unwrap();
        let found = store.find(&dir.path().join("some/graph.cenote")).unwrap().unwrap();
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
        let found = store.find(dir.path()).unwrap().unwrap();
        assert!(found.conditions.notes.contains(&"second".to_owned()));
    }

    #[test]
    fn a_busy_profile_does_not_replace_a_calmer_one() {
        let (dir, store) = store();
        let with = |calm: Calm, note: &str| {
            let mut profile = measured_at(dir.path());
            profile.conditions.calm = Some(calm);
            profile.conditions.notes.push(note.into());
            profile
        };
        let calm = |spread, io| Calm::new(spread, Some(io), Some(0.0));
        // Without a saved profile, a busy one is better than none.
        let first = store.save_if_calm(&with(calm(0.4, 0.5), "first")).unwrap();
        assert!(first.path().is_some(), "{first}");
        let calmer = store.save_if_calm(&with(calm(0.3, 0.0), "busy, but calmer")).unwrap();
        assert!(calmer.path().is_some(), "{calmer}");
        let kept = store.save_if_calm(&with(calm(0.1, 0.2), "busy")).unwrap();
        assert_eq!(kept.path(), None);
        let line = kept.to_string();
        assert!(line.contains("not saved: the machine was busy") && !line.contains('\n'), "{line}");
        let notes = || store.find(dir.path()).unwrap().unwrap().conditions.notes;
        assert!(notes().contains(&"busy, but calmer".to_owned()));
        // A calm one always replaces, although its repetitions differ more than before.
        store.save_if_calm(&with(calm(0.01, 0.0), "calmest")).unwrap();
        store.save_if_calm(&with(calm(0.2, 0.05), "calm")).unwrap();
        assert!(notes().contains(&"calm".to_owned()));
        let asked = with(calm(0.9, 0.9), "asked for");
        assert!(store.save_if_calm(&asked).unwrap().path().is_none());
        store.save(&asked).unwrap();
        assert!(notes().contains(&"asked for".to_owned()));
    }

    #[test]
    fn damaged_and_newer_profiles_are_errors_with_a_remedy() {
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
            let error = store.find(dir.path()).unwrap_err();
            assert!(matches!(error, DeviceError::Profile { .. }));
            let message = error.to_string();
            assert!(store.find_or_assume(dir.path()).unwrap().assumed, "{message}");
            assert!(message.contains(expected) && message.contains("cenote profile"), "{message}");
            assert!(message.contains(path.to_str().unwrap()), "{message}");
        }
    }

    #[test]
    fn a_store_that_cannot_be_written_names_its_path() {
        let (dir, _) = store();
        fs::write(dir.path().join("file"), "x").unwrap();
        let store = ProfileStore::at(dir.path().join("file/profiles"));
        let error = store.save(&measured_at(dir.path())).unwrap_err();
        assert!(error.to_string().contains("file/profiles"), "{error}");
        assert!(store.check_writable().unwrap_err().to_string().contains("file/profiles"));
        assert!(store.find_or_assume(dir.path()).unwrap().assumed);
    }

    #[test]
    fn without_a_home_nothing_is_found_and_nothing_saved() {
        let dir = tempfile::tempdir().unwrap();
        let homeless = ProfileStore::of_variables(None, None);
        assert_eq!(homeless.find(dir.path()).unwrap(), None);
        assert!(homeless.find_or_assume(dir.path()).unwrap().assumed);
        for fault in [homeless.check_writable().err(), homeless.save(&Profile::assumed()).err()] {
            assert!(fault.unwrap().to_string().contains("set HOME or XDG_STATE_HOME"));
        }
    }

    #[test]
    fn the_check_leaves_nothing_behind() {
        let (_dir, store) = store();
        store.check_writable().unwrap();
        assert_eq!(fs::read_dir(store.directory().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn the_users_store_follows_the_environment() {
        let of = |state: Option<&str>, home: Option<&str>| {
            let store = ProfileStore::of_variables(state.map(Into::into), home.map(Into::into));
            store.directory.unwrap()
        };
        assert_eq!(of(Some("/s"), Some("/h")), Path::new("/s/cenote/profiles"));
        let at_home = Path::new("/h/.local/state/cenote/profiles");
        assert_eq!(of(None, Some("/h")), at_home);
        assert_eq!(of(Some("relative"), Some("/h")), at_home);
    }
}
