//! Answers to changes, as they are found.

use super::Answer;

/// Takes answers to changes, by their number in the batch.
pub(super) trait Record {
    /// Sets the answer of a change, which is [`Answer::Done`] until then.
    fn record(&mut self, change: usize, answer: Answer);
}

impl Record for [Answer] {
    fn record(&mut self, change: usize, answer: Answer) {
        self[change] = answer;
    }
}

/// Answers of some changes of a batch, for those that are not [`Answer::Done`].
#[derive(Debug, Default)]
pub(super) struct Answers(Vec<(u32, Answer)>);

impl Record for Answers {
    fn record(&mut self, change: usize, answer: Answer) {
        if answer != Answer::Done {
            self.0.push((change as u32, answer));
        }
    }
}

impl Answers {
    /// Sets them among those of the whole batch.
    pub fn copy_to(&self, all: &mut [Answer]) {
        self.0.iter().for_each(|&(change, answer)| all[change as usize] = answer);
    }
}
