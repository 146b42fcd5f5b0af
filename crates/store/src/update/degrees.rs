//! The lengths of lists, as rewritten lists make them: while the lists are rewritten, page by page.

use std::ops::Range;

use super::VertexId;
use crate::Direction;
use crate::degrees::{DegreePages, DegreeReader, longer};
use crate::error::Result;
use crate::format::Codec;
use crate::graph::Graph;
use crate::store::draft::{Draft, Part, SectionEdit};
use crate::stream::Ahead;
use crate::superblock::SectionKind;

/// So many changed pages of lengths wait in memory to be written together, since they would come
/// between the pages of lists, which are written meanwhile.
const HELD_MAX: usize = 128;

/// The section of the lengths of one direction's lists, on its way to another commit.
pub(super) struct DegreeEdit<'g> {
    graph: &'g Graph,
    direction: Direction,
    kind: SectionKind,
    /// The longest list so far, and its vertex.
    longest: (u64, VertexId),
    /// What is left of the section; none if it is not there, or was made for an earlier epoch.
    reader: Option<DegreeReader<'g>>,
    /// The lists that the section has: those without the new ones of delta runs and of the batch.
    listed: u64,
    page: OldPage,
    /// The lengths of the new lists, and those of all that change where there is no section.
    later: Vec<(VertexId, u64)>,
    /// What comes behind `parts`, and how many of it are new pages.
    held: Vec<Next>,
    held_new: usize,
    /// The section as far as it is written.
    parts: Vec<Part>,
}

/// A page of the section, with changes.
#[derive(Default)]
struct OldPage {
    /// The number of the next page: this one is that before it.
    next: u64,
    first: VertexId,
    degrees: Vec<u64>,
    is_changed: bool,
}

/// What comes next in the section.
enum Next {
    /// Pages that stay.
    Kept(Range<u64>),
    New(DegreePages),
}

impl OldPage {
    fn end(&self) -> u64 {
        u64::from(self.first) + self.degrees.len() as u64
    }

    fn longest(&self) -> (u64, VertexId) {
        let degree = self.degrees.iter().copied().max().unwrap_or(0);
        let at = self.degrees.iter().position(|other| *other == degree).unwrap_or(0);
        (degree, self.first + at as VertexId)
    }

    fn encode(&self, page_bytes: usize) -> DegreePages {
        let mut pages = DegreePages::starting_at(self.first, page_bytes);
        (self.first..).zip(&self.degrees).for_each(|(vertex, degree)| pages.push(vertex, *degree));
        pages
    }
}

impl<'g> DegreeEdit<'g> {
    pub fn begin(graph: &'g Graph, direction: Direction) -> Result<Self> {
        let kind = graph.degrees_kind(direction);
        // That of the lists without delta runs.
        let section = graph.committed().fresh(kind);
        let listed = section.map_or(0, |_| graph.committed().listed_vertices);
        let reader = section.map(|section| DegreeReader::new(&graph.pages, *section, Ahead::FAR));
        Ok(Self {
            graph,
            direction,
            kind,
            longest: (0, 0),
            reader: reader.transpose()?,
            listed,
            page: OldPage::default(),
            later: Vec::new(),
            held: Vec::new(),
            held_new: 0,
            parts: Vec::new(),
        })
    }

    /// Whether it needs the lengths of all lists with changes of delta runs, too.
    pub fn goes_on(&self) -> bool {
        self.reader.is_some()
    }

    /// Sets the lengths of some lists, which ascend from call to call.
    pub fn set(
        &mut self,
        draft: &mut Draft<'_>,
        changed: impl Iterator<Item = (VertexId, u64)>,
    ) -> Result<()> {
        for (vertex, degree) in changed {
            if u64::from(vertex) >= self.listed {
                self.later.push((vertex, degree));
                continue;
            }
            while u64::from(vertex) >= self.page.end() {
                self.next_page()?;
            }
            let place = &mut self.page.degrees[(vertex - self.page.first) as usize];
            self.page.is_changed |= std::mem::replace(place, degree) != degree;
        }
        if self.held_new >= HELD_MAX {
            self.parts = self.write(draft)?.stop();
        }
        Ok(())
    }

    /// Writes what is left. Returns the longest list and its vertex.
    pub fn finish(mut self, draft: &mut Draft<'_>) -> Result<(u64, VertexId)> {
        let later = std::mem::take(&mut self.later);
        let (mut last, base, new) = if self.goes_on() {
            (self.last_page(!later.is_empty())?, self.listed, &later[..])
        } else {
            let base = self.graph.vertices() as u64;
            let (changed, new) =
                later.split_at(later.partition_point(|(vertex, _)| u64::from(*vertex) < base));
            (self.write_all(draft, changed)?, base, new)
        };
        for (expected, &(vertex, degree)) in (base..).zip(new) {
            assert_eq!(u64::from(vertex), expected, "each new list has its length");
            self.longest = longer(self.longest, (degree, vertex));
            last.push(vertex, degree);
        }
        self.hold(Next::New(last));
        let section = self.write(draft)?;
        section.finish(self.kind, Codec::Raw, base + new.len() as u64);
        Ok(self.longest)
    }

    /// Goes through the rest of the section. Returns pages for new lists: they go on with the last
    /// one, if there are any.
    fn last_page(&mut self, has_new: bool) -> Result<DegreePages> {
        let page_bytes = self.graph.page_bytes();
        while self.page.end() < self.listed {
            self.next_page()?;
        }
        let last = if has_new && self.page.next > 0 {
            self.longest = longer(self.longest, self.page.longest());
            self.page.encode(page_bytes)
        } else {
            self.close();
            DegreePages::starting_at(self.listed as VertexId, page_bytes)
        };
        let rest = self.reader.as_mut().expect("there is a section").next()?;
        assert!(rest.is_none(), "no length is of a list that is not there");
        Ok(last)
    }

    /// Ends the page and reads the one behind it, of which there is one.
    fn next_page(&mut self) -> Result<()> {
        self.close();
        let reader = self.reader.as_mut().expect("there is a section");
        let first = reader.next_into(&mut self.page.degrees)?;
        self.page.first = first.expect("each list has its length");
        self.page.next += 1;
        self.page.is_changed = false;
        Ok(())
    }

    fn close(&mut self) {
        let Some(number) = self.page.next.checked_sub(1) else { return };
        self.longest = longer(self.longest, self.page.longest());
        let next = match self.page.is_changed {
            true => Next::New(self.page.encode(self.graph.page_bytes())),
            false => Next::Kept(number..number + 1),
        };
        self.hold(next);
    }

    fn hold(&mut self, next: Next) {
        match (self.held.last_mut(), next) {
            (Some(Next::Kept(last)), Next::Kept(pages)) if last.end == pages.start => {
                last.end = pages.end;
            }
            (_, next) => {
                self.held_new += usize::from(matches!(next, Next::New(_)));
                self.held.push(next);
            }
        }
    }

    /// Writes what is held. Returns the section, as far as it goes.
    fn write<'t, 's>(&mut self, draft: &'t mut Draft<'s>) -> Result<SectionEdit<'t, 's>> {
        let mut section = SectionEdit::resume(draft, std::mem::take(&mut self.parts))?;
        for next in self.held.drain(..) {
            match next {
                Next::Kept(pages) => section.keep(pages),
                Next::New(pages) => drop(pages.write(&mut section)?),
            }
        }
        self.held_new = 0;
        Ok(section)
    }

    /// Writes the lengths of all lists, some of them changed, but for those of the last page.
    fn write_all(
        &mut self,
        draft: &mut Draft<'_>,
        changed: &[(VertexId, u64)],
    ) -> Result<DegreePages> {
        let mut changed = changed.iter().peekable();
        let mut last = DegreePages::starting_at(0, self.graph.page_bytes());
        let mut section = SectionEdit::new(draft)?;
        let mut written = Ok(());
        self.graph.degrees(self.direction, &mut |first, degrees| {
            for (vertex, &degree) in (first..).zip(degrees) {
                let new = changed.next_if(|(of, _)| *of == vertex);
                let degree = new.map_or(degree, |(_, degree)| *degree);
                self.longest = longer(self.longest, (degree, vertex));
                last.push(vertex, degree);
            }
            if written.is_ok() {
                written = last.write_full(&mut section);
            }
        })?;
        written?;
        self.parts = section.stop();
        Ok(last)
    }
}
