//! What the users of a drive share.

use std::sync::Arc;

use cenote_device::Op;
use cenote_device::profile::Profile;
use cenote_device::wrapper::IoBudget;

/// The size of request whose k_r and k_w are a drive's budget. Larger requests need fewer.
const PAGE_BYTES_USUAL: u64 = 4096;

/// Reads in flight that the budget allows at least: a run corrects its depth by what it meets,
/// which on a shared drive may be more than the k_r of a calm hour.
const READS_MIN: usize = 128;

/// What all users of a drive may have in flight together.
pub fn budget(profile: &Profile, depth: usize) -> Arc<IoBudget> {
    let model = profile.model();
    let reads = model.channels(Op::Read, PAGE_BYTES_USUAL) as usize;
    let writes = model.channels(Op::Write, PAGE_BYTES_USUAL) as usize;
    IoBudget::new(reads.max(depth).max(READS_MIN), writes)
}
