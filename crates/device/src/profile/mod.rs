//! Measures a device into a [`Profile`].
