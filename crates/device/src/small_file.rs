//! Files that are read as a whole, such as saved profiles.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file. Neither waits for the writer of a pipe nor begins to read a device.
///
/// # Errors
/// Of kind [`ErrorKind::InvalidInput`] for anything else.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(file)
}

/// Reads a regular file of at most `bytes_max` bytes.
///
/// # Errors
/// Of kind [`ErrorKind::InvalidInput`] for anything else, [`ErrorKind::FileTooLarge`].
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let reason = format!("it has more than {bytes_max} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let endless = folder.path().join("endless");
        std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        for path in [endless.as_path(), &pipe, folder.path()] {
            let error = read(path, 1 << 20).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}: {error}", path.display());
        }
        let missing = read(&folder.path().join("missing"), 1).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
