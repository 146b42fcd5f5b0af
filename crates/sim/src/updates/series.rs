//! The end of some histories: batches that become delta runs, which are merged beside more of them.

use cenote_store::{Batch, Change, Op, VertexId, WriteLimits};

use super::history::{History, Step};
use crate::random::Random;

impl History {
    /// Small batches to a log that is soon full, so that it becomes delta runs, and a merge of
    /// these beside the last of them.
    pub(super) fn push_series(&mut self, random: &mut Random) {
        let limits = WriteLimits::default().bytes(16 << 10).changes(4).run_percent(5000);
        self.push(Step::Open(limits), Vec::new());
        let commits = 3 + random.below(8);
        // Runs are merged beside the last of them.
        let beside = commits - random.below(commits);
        for commit in 0..commits {
            if commit == beside {
                self.push(Step::Beside((commits - beside) as usize), Vec::new());
            }
            let n = self.last().numbers.len() as u64;
            let change = |random: &mut Random| {
                let [source, target] = [(); 2].map(|()| random.below(n) as VertexId);
                Change { op: random.pick(&[Op::Add, Op::Add, Op::Delete]), source, target }
            };
            let changes = (0..2 + random.below(3)).map(|_| change(random)).collect();
            let mut batch = Batch { changes, ..Batch::default() };
            self.weigh(&mut batch, random);
            let step = if random.chance(5) { Step::Update(batch) } else { Step::Commit(batch) };
            self.push(step, Vec::new());
        }
        if beside == commits {
            self.push(Step::Beside(0), Vec::new());
        }
    }

    /// The merge beside others, if there is one, and how many steps it is beside.
    pub fn beside(&self) -> Option<(usize, usize)> {
        let mut steps = self.steps.iter().enumerate();
        steps.find_map(|(at, step)| match step {
            Step::Beside(steps) => Some((at, *steps)),
            _ => None,
        })
    }

    /// The history without its merge beside other steps, which graphs over tiers do not have.
    pub(super) fn without_beside(mut self) -> Self {
        if let Some((at, _)) = self.beside() {
            self.steps.remove(at);
            self.answers.remove(at);
            self.states.remove(at + 1);
        }
        self
    }
}
