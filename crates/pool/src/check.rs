//! Checks of pages, such as checksums.

use std::fmt::Debug;

use crc_fast::{CrcAlgorithm, checksum};

use crate::PageId;

/// Why a page was refused: an error type of the client.
pub type Damage = Box<dyn std::error::Error + Send + Sync>;

/// Seals pages before writes and checks them after reads, so that a page that was torn by a power
/// cut or changed outside the pool is an error.
pub trait PageCheck: Send + Sync + Debug {
    /// Seals the copy of a page before it is written.
    fn seal(&self, page: PageId, bytes: &mut [u8]);

    /// Checks a page that was read.
    fn check(&self, page: PageId, bytes: &[u8]) -> Result<(), Damage>;
}

/// CRC-32C over page number and contents in the last four bytes of each page, little-endian. A
/// page of zeros, never written, is valid.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crc32cTrailer;

const TRAILER_BYTES: usize = 4;

fn crc(page: PageId, body: &[u8]) -> u32 {
    let number = checksum(CrcAlgorithm::Crc32Iscsi, &page.to_le_bytes());
    // Includes the number, so that a misplaced page is noticed.
    (checksum(CrcAlgorithm::Crc32Iscsi, body) ^ number.rotate_left(16)) as u32
}

impl PageCheck for Crc32cTrailer {
    fn seal(&self, page: PageId, bytes: &mut [u8]) {
        let (body, trailer) = bytes.split_at_mut(bytes.len() - TRAILER_BYTES);
        trailer.copy_from_slice(&crc(page, body).to_le_bytes());
    }

    fn check(&self, page: PageId, bytes: &[u8]) -> Result<(), Damage> {
        let (body, trailer) = bytes.split_at(bytes.len() - TRAILER_BYTES);
        let (found, expected) = (trailer, crc(page, body).to_le_bytes());
        if found == expected || bytes.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        Err(format!("its checksum is {found:02x?}, its contents need {expected:02x?}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_and_any_swapped_page_is_noticed() {
        let mut page = vec![7; 512];
        Crc32cTrailer.seal(3, &mut page);
        assert!(Crc32cTrailer.check(3, &page).is_ok());
        assert!(Crc32cTrailer.check(4, &page).is_err());
        for bit in 0..512 * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(Crc32cTrailer.check(3, &page).is_err(), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(Crc32cTrailer.check(9, &[0; 512]).is_ok(), "a page never written");
    }
}
