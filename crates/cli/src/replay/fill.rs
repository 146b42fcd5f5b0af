//! Makes the file that a replay overwrites.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cenote_workload::random::Counter;

use crate::cancel;
use crate::progress::{Progress, Unit};
use cenote::partial::PartialFile;

const PIECE_BYTES: usize = 1 << 20;

/// Creates `path` with `bytes` bytes that are written, not merely reserved: a drive answers for
/// blocks that it never got without looking for them, and a file system converts them when they
/// are first written.
pub fn create(path: &Path, bytes: u64) -> Result<()> {
    ensure!(
        !path.exists(),
        "{} exists: --overwrite replaces its bytes, --create makes a new file",
        path.display()
    );
    let failed = || format!("cannot write {}", path.display());
    let bar = Progress::new("create", Some(bytes), Unit::Bytes);
    let mut file = PartialFile::create(path)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        cancel::check()?;
        stir(&mut piece, left);
        let len = left.min(PIECE_BYTES as u64);
        file.write_all(&piece[..len as usize]).with_context(failed)?;
        bar.advance(len);
        left -= len;
    }
    file.finish()?;
    Ok(())
}

/// No two pages alike, nor compressible: some drives would save themselves the work.
fn stir(piece: &mut [u8], seed: u64) {
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
        create(&path, (1 << 20) + 4096).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), (1 << 20) + 4096);
        assert_ne!(bytes[..4096], bytes[1 << 20..]);
        assert!(bytes.chunks(4096).all(|page| page.iter().any(|&byte| byte != 0)));
        assert!(create(&path, 8192).unwrap_err().to_string().contains("--overwrite"));
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
