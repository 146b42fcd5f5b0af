//! Creates the file for a replay.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use cenote_workload::random::Counter;

use crate::control::{Control, Meter};
use crate::error::{Result, file_error, require};

const PIECE_BYTES: usize = 1 << 20;

/// Creates `path` with `bytes` written bytes: reads of merely reserved blocks would not reach the
/// drive, and their first writes would convert them. The file is `.NAME.partial-PID` until it is
/// complete.
pub fn create(path: &Path, bytes: u64, control: Control<'_>) -> Result<()> {
    require(!path.exists(), || {
        format!(
            "{} exists: `overwrite` replaces its bytes, `create` makes a new file",
            path.display()
        )
    })?;
    let name = path.file_name().unwrap_or_default().display();
    let partial = path.with_file_name(format!(".{name}.partial-{}", std::process::id()));
    let made = fill(path, &partial, bytes, control)
        .and_then(|()| fs::rename(&partial, path).map_err(file_error(path, "create")));
    if made.is_err() {
        // The file may not exist; the first error is reported.
        let _ = fs::remove_file(&partial);
    }
    made
}

fn fill(path: &Path, partial: &Path, bytes: u64, control: Control<'_>) -> Result<()> {
    let meter = Meter::new(control, "create", bytes);
    let mut file = File::create(partial).map_err(file_error(path, "create"))?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        control.check()?;
        randomize(&mut piece, left);
        let len = left.min(PIECE_BYTES as u64);
        file.write_all(&piece[..len as usize]).map_err(file_error(path, "write"))?;
        meter.advance(len);
        left -= len;
    }
    file.sync_all().map_err(file_error(path, "write"))
}

/// Random bytes, because some drives deduplicate and compress.
fn randomize(piece: &mut [u8], seed: u64) {
    let random = Counter::new(seed, 0);
    for (index, word) in (0..).zip(piece.chunks_exact_mut(8)) {
        word.copy_from_slice(&random.at(index).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_written_in_full_and_an_old_one_spared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages");
        create(&path, (1 << 20) + 4096, Control::default()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), (1 << 20) + 4096);
        assert_ne!(bytes[..4096], bytes[1 << 20..]);
        assert!(bytes.chunks(4096).all(|page| page.iter().any(|&byte| byte != 0)));
        let fault = create(&path, 8192, Control::default()).unwrap_err().to_string();
        assert!(fault.contains("`overwrite`"), "{fault}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_file_that_is_not_finished_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control { cancelled: &|| true, ..Control::default() };
        assert!(create(&folder.path().join("pages"), 8192, control).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
