//! Chooses extents and depth from a profile.
