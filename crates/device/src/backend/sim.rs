//! A simulated device in virtual time.
