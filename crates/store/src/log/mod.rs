//! The log: small batches of changes, durable before the lists have them.
//!
//! The log lies in consecutive pages that the superblock names. Each *flush* writes one or more
//! batches behind the flushes before, in blocks of 4 KiB, and syncs. A commit takes the changes of
//! the log into the lists: its blocks carry the epoch, so those of an earlier one are no longer
//! valid and the next flush starts again at the first block.
//!
//! A flush that is not whole is the end of the log: it was cut off before it was durable. Each
//! block says up to which flush all were durable when it was written. So a flush that is not whole
//! although a later one says that it was durable is damaged, which is an error.
//!
//! - `batch`: the encoding of a batch
//! - `block`: the encoding of a flush in blocks
//! - `read`: reads the flushes of an epoch
//! - [`Pending`]: what the changes of a log come to

use crate::error::{PageError, PageFault, StoreError};
use crate::superblock::Superblock;

mod batch;
mod block;
mod pending;
mod read;

pub(crate) use batch::{EdgeOp, LoggedBatch, LoggedChange, encoded_id_bytes};
pub(crate) use block::{FlushPlace, LogArea};
pub(crate) use pending::{Pending, PendingCounts, PendingEdge};
pub(crate) use read::{LogEnd, read_log};

/// Name of the log in errors.
const SECTION: &str = "log";

/// An error that names the page of a block of the log.
fn log_page_error(file: &str, superblock: &Superblock, block: u64, fault: PageFault) -> PageError {
    let area = LogArea::of(superblock);
    let page = area.page_of(block.min(area.blocks() - 1));
    let (file, page_bytes) = (file.into(), u64::from(superblock.page_bytes));
    PageError { file, page, physical: page, page_bytes, section: SECTION, fault }
}

/// A fault of what the log as a whole comes to, which names its first page.
#[cold]
pub(crate) fn log_fault(file: &str, superblock: &Superblock, fault: PageFault) -> StoreError {
    log_page_error(file, superblock, 0, fault).into()
}
