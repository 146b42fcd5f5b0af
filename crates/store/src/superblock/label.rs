//! The names of snapshots.

/// Most bytes of the name of a snapshot.
pub const NAME_BYTES_MAX: usize = 64;

/// Most snapshots of a graph. Each commit that makes or removes one writes a page for each.
pub const SNAPSHOTS_MAX: usize = 64;

/// The name of a snapshot and the time at which it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotLabel {
    pub name: String,
    /// Seconds since 1970.
    pub created: u64,
}

/// What is wrong with the name of a snapshot, if anything.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    let is_excluded = |c: char| c.is_control() || matches!(c, '/' | '@');
    match name {
        "" => Some("is empty"),
        _ if name.len() > NAME_BYTES_MAX => Some("is longer than 64 bytes"),
        _ if name.contains(is_excluded) => Some("has a control character, `/` or `@`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_in_one_line() {
        for name in ["a", "before the cleanup", "2026-01-31T00:00:00Z", "prüfung", &"x".repeat(64)]
        {
            assert_eq!(name_fault(name), None, "{name}");
        }
        for name in ["", "a/b", "a@b", "a\nb", "\u{7f}", &"x".repeat(65), &"ü".repeat(33)] {
            assert!(name_fault(name).is_some(), "{name:?}");
        }
    }
}
