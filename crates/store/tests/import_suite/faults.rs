//! Faulty devices under import: always an error that names the device, never a graph.
