//! Devices around devices.
