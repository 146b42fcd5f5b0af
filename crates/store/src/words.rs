//! Reads and writes pages of `u64` words: the page index, the weight index, integer ids.

use cenote_pool::PageId;

use crate::error::{PageFault, Result, equal};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::pages::Pages;
use crate::sink::{PageSink, PageTarget};
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind};

/// The words of a verified page, in a section with `rest` words from this page on.
pub(crate) fn words<'a>(
    bytes: &'a [u8],
    header: &PageHeader,
    rest: u64,
) -> Result<&'a [u64], PageFault> {
    let count = rest.min(format::words_per_page(bytes.len()) as u64);
    equal("number of items", header.entries.into(), count)?;
    let payload = &bytes[HEADER_BYTES..][..count as usize * 8];
    Ok(bytemuck::try_cast_slice(payload).expect("pages lie in aligned buffers"))
}

pub(crate) fn write_words(sink: &mut PageSink, words: &[u64]) -> Result<u64> {
    let per_page = format::words_per_page(sink.page_bytes());
    for chunk in words.chunks(per_page) {
        let bytes: &[u8] = bytemuck::cast_slice(chunk);
        sink.page()[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
        sink.seal(PageHeader { entries: chunk.len() as u32, ..PageHeader::new(PageKind::Index) })?;
    }
    Ok(words.len().div_ceil(per_page) as u64)
}

/// Streams the words of an index one by one, each with its page.
pub(crate) struct Words<'a> {
    pages: &'a Pages,
    section: Section,
    stream: PageStream,
    rest: u64,
    page: PageId,
    batch: Vec<u64>,
    at: usize,
}

impl<'a> Words<'a> {
    pub fn new(pages: &'a Pages, kind: SectionKind) -> Result<Self> {
        let section = *pages.layout.superblock.section(kind).expect("the superblock was checked");
        let stream = pages.stream(section.range(), Ahead::NEAR)?;
        let (rest, page) = (section.items, section.first_page);
        Ok(Self { pages, section, stream, rest, page, batch: Vec::new(), at: 0 })
    }

    pub fn len(&self) -> usize {
        self.section.items as usize
    }

    pub fn next(&mut self) -> Result<Option<(PageId, u64)>> {
        if self.at == self.batch.len() {
            let Some((page, bytes)) = self.stream.next()? else { return Ok(None) };
            let header = self.pages.layout.verify(self.section, page, bytes)?;
            let words = words(bytes, &header, self.rest)
                .map_err(|fault| self.pages.layout.fault(page, self.section.kind.name(), fault))?;
            self.rest -= words.len() as u64;
            self.page = page;
            self.batch.clear();
            self.batch.extend_from_slice(words);
            self.at = 0;
        }
        self.at += 1;
        Ok(Some((self.page, self.batch[self.at - 1])))
    }
}
