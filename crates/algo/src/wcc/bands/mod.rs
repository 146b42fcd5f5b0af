//! Components with less memory than the labels of all vertices take.
//!
//! In memory are sets of vertices, one bit each, and one band of consecutive vertices.
//!
//! 1. *The giant component*: one pass over the lists spreads a set from the vertex of largest
//!    degree. It stands for one vertex from then on. Real graphs have little beside it.
//! 2. *Edges outside of it* are written to blocks, by the band of their larger end.
//! 3. *Down*, from the last band to the first: a union-find joins the edges within the band. Every
//!    tree keeps the smallest neighbour below the band; an edge to another neighbour becomes one
//!    between these two and goes to the band of the larger. So every band is contracted into those
//!    below it, which know all that its edges joined: as the sweep of Sibeyn that Dementiev,
//!    Sanders, Schultes and Sibeyn engineered for spanning trees (IFIP TCS 2004), but by bands. A
//!    tree without a neighbour below is a component; any other sends its number of vertices on.
//! 4. *Up*, from the first band to the last: labels are final, and answer the trees above.
//!
//! There are as many steps as bands, whatever the diameter. An edge is written again once for every
//! band that contracts one of its ends, of random ends about ln(bands) times.
//!
//! - [`plan`]: sizes and estimate; [`giant`]: the passes over the lists
//! - [`band`]: one band in memory; [`run`]: the sweeps

mod band;
mod giant;
mod plan;
mod run;

pub(super) use plan::choose;
pub(super) use run::run;
