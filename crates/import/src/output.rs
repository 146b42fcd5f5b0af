//! Checks where an output may go: it replaces only regular files, and never an input.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Links that lead to one another at most, as in Linux.
const LINKS_MAX: usize = 40;

/// What exists at the path of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// Nothing.
    Nothing,
    /// A regular file, or a link to one, which a new file may replace if the user permits.
    File,
    /// A pipe, a terminal or `/dev/null`, or a link to an open file as `/dev/stdout` is, which can
    /// be written to but is never replaced.
    Stream,
}

/// An error of an output that would destroy something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct OutputRefused {
    /// Path of the output.
    pub path: PathBuf,
    /// What is wrong and how to avoid it.
    pub reason: &'static str,
}

/// Determines what exists at the path of an output. Refuses folders, drives, dangling links, and
/// `inputs` under any name, hard or symbolic link; an input `-` is standard input.
pub fn occupant(out: &Path, inputs: &[&Path]) -> Result<Occupant, OutputRefused> {
    let refused = |reason| Err(OutputRefused { path: out.to_owned(), reason });
    let Ok(there) = out.metadata() else {
        return match out.symlink_metadata() {
            Ok(_) => refused("is a link that leads nowhere; remove it or give another output"),
            Err(_) => Ok(Occupant::Nothing),
        };
    };
    let kind = there.file_type();
    if kind.is_dir() {
        return refused("is a folder; give a file name");
    }
    if kind.is_block_device() {
        return refused("is a drive, not a file; give the name of a file on it");
    }
    if !kind.is_file() {
        return Ok(Occupant::Stream);
    }
    let is_output = |input: &&Path| {
        let input = if input.as_os_str() == "-" { Path::new("/dev/stdin") } else { input };
        input.metadata().is_ok_and(|input| identity(&input) == identity(&there))
    };
    if inputs.iter().any(is_output) {
        return refused("is an input too, and would be lost; give another output");
    }
    Ok(if is_open_file(out) { Occupant::Stream } else { Occupant::File })
}

/// Whether a path leads through links to an open file of a process, as `/dev/stdout` does.
fn is_open_file(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let Ok(folder) = folder.canonicalize() else { return false };
        if folder.starts_with("/proc") {
            return true;
        }
        let Ok(target) = fs::read_link(&path) else { return false };
        path = folder.join(target);
    }
    false
}

/// Device and inode number: the same for every path to one file.
pub(crate) fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_that_are_no_inputs_may_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("input"), "1 2\n").unwrap();
        fs::write(path("other"), "").unwrap();
        fs::hard_link(path("input"), path("hard")).unwrap();
        symlink(path("input"), path("soft")).unwrap();
        symlink(path("other"), path("to other")).unwrap();
        symlink(path("nothing"), path("dangling")).unwrap();
        let input = path("input");
        let of = |out: &Path| occupant(out, &[&input]);
        assert_eq!(of(&path("nothing")), Ok(Occupant::Nothing));
        assert_eq!(of(&path("other")), Ok(Occupant::File));
        assert_eq!(of(&path("to other")), Ok(Occupant::File));
        assert_eq!(of(Path::new("/dev/null")), Ok(Occupant::Stream));
        let spelled = folder.path().join("./input");
        for out in [&input, &spelled, &path("hard"), &path("soft")] {
            assert!(of(out).unwrap_err().reason.contains("input"), "{}", out.display());
        }
        for out in [folder.path(), &path("dangling")] {
            assert!(of(out).is_err(), "{}", out.display());
        }
    }

    #[test]
    fn a_link_to_an_open_file_is_a_stream() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "").unwrap();
        let file = fs::File::open(path("file")).unwrap();
        let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
        symlink(&opened, path("link")).unwrap();
        symlink("link", path("second")).unwrap();
        for out in [Path::new(&opened), &path("link"), &path("second")] {
            assert_eq!(occupant(out, &[]), Ok(Occupant::Stream), "{}", out.display());
            assert!(occupant(out, &[&path("file")]).is_err(), "it is an input");
        }
        assert_eq!(occupant(&path("file"), &[]), Ok(Occupant::File));
    }
}
