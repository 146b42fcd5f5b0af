//! A doubly linked list of frames.
//!
//! Links are in an array by frame number, so operations do not allocate, and take constant time.

use super::FrameId;

const NONE: FrameId = FrameId::MAX;

/// An order of frames; each at most once.
#[derive(Debug)]
pub(crate) struct Queue {
    links: Box<[Link]>,
    coldest: FrameId,
    hottest: FrameId,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    colder: FrameId,
    hotter: FrameId,
    linked: bool,
}

impl Queue {
    /// An empty list for frames below `frames`.
    pub fn new(frames: usize) -> Self {
        let link = Link { colder: NONE, hotter: NONE, linked: false };
        Self { links: vec![link; frames].into(), coldest: NONE, hottest: NONE, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn contains(&self, frame: FrameId) -> bool {
        self.links[frame as usize].linked
    }

    /// The end that is evicted first.
    pub fn coldest(&self) -> Option<FrameId> {
        some(self.coldest)
    }

    /// The end that is evicted last.
    pub fn hottest(&self) -> Option<FrameId> {
        some(self.hottest)
    }

    /// The neighbour towards the hottest.
    pub fn hotter(&self, frame: FrameId) -> Option<FrameId> {
        some(self.links[frame as usize].hotter)
    }

    /// The neighbour towards the coldest.
    pub fn colder(&self, frame: FrameId) -> Option<FrameId> {
        some(self.links[frame as usize].colder)
    }

    /// Adds a frame that is not in the list as the hottest.
    pub fn push_hot(&mut self, frame: FrameId) {
        self.insert(frame, self.hottest, NONE);
    }

    /// Adds a frame that is not in the list as the coldest.
    pub fn push_cold(&mut self, frame: FrameId) {
        self.insert(frame, NONE, self.coldest);
    }

    /// Adds a frame that is not in the list next to, and colder than, one that is.
    pub fn insert_colder(&mut self, frame: FrameId, hotter: FrameId) {
        assert!(self.contains(hotter), "frame {hotter} is in the list");
        self.insert(frame, self.links[hotter as usize].colder, hotter);
    }

    /// Removes a frame, which must be in the list.
    pub fn remove(&mut self, frame: FrameId) {
        let Link { colder, hotter, linked } = self.links[frame as usize];
        assert!(linked, "frame {frame} is in the list");
        self.set_hotter(colder, hotter);
        self.set_colder(hotter, colder);
        self.links[frame as usize] = Link { colder: NONE, hotter: NONE, linked: false };
        self.len -= 1;
    }

    /// Makes a frame of the list the hottest.
    pub fn move_to_hot(&mut self, frame: FrameId) {
        if self.hottest != frame {
            self.remove(frame);
            self.push_hot(frame);
        }
    }

    /// The frames from the coldest to the hottest.
    pub fn iter(&self) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::successors(self.coldest(), |&frame| self.hotter(frame))
    }

    fn insert(&mut self, frame: FrameId, colder: FrameId, hotter: FrameId) {
        assert!(!self.contains(frame), "frame {frame} is in the list at most once");
        self.links[frame as usize] = Link { colder, hotter, linked: true };
        self.set_hotter(colder, frame);
        self.set_colder(hotter, frame);
        self.len += 1;
    }

    fn set_hotter(&mut self, frame: FrameId, hotter: FrameId) {
        match some(frame) {
            Some(frame) => self.links[frame as usize].hotter = hotter,
            None => self.coldest = hotter,
        }
    }

    fn set_colder(&mut self, frame: FrameId, colder: FrameId) {
        match some(frame) {
            Some(frame) => self.links[frame as usize].colder = colder,
            None => self.hottest = colder,
        }
    }
}

fn some(frame: FrameId) -> Option<FrameId> {
    (frame != NONE).then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_in_the_order_they_were_heated() {
        let mut queue = Queue::new(4);
        (0..4).for_each(|frame| queue.push_hot(frame));
        queue.move_to_hot(1);
        queue.remove(2);
        queue.push_cold(2);
        assert_eq!(queue.iter().collect::<Vec<_>>(), [2, 0, 3, 1]);
        assert_eq!((queue.coldest(), queue.hottest(), queue.len()), (Some(2), Some(1), 4));
        (0..4).for_each(|frame| queue.remove(frame));
        assert_eq!((queue.coldest(), queue.hottest(), queue.len()), (None, None, 0));
    }
}
