//! Any sequence of operations on any backend agrees with a vector of bytes.

use std::collections::HashMap;

use cenote_device::{Buffer, Completion, Device, Op, Queue, QueueConfig};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{Devices, pattern, request};

const SECTOR: u64 = 512;

#[derive(Clone, Debug)]
enum Step {
    Read { sector: u64, sectors: u64 },
    Write { sector: u64, sectors: u64, seed: u64 },
    Submit,
    Reap(usize),
    SetLen(u64),
    Sync,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..80u64, 1..24u64).prop_map(|(sector, sectors)| Step::Read { sector, sectors }),
        6 => (0..64u64, 1..24u64, any::<u64>())
            .prop_map(|(sector, sectors, seed)| Step::Write { sector, sectors, seed }),
        2 => Just(Step::Submit),
        3 => (0..4usize).prop_map(Step::Reap),
        1 => (0..50_000u64).prop_map(Step::SetLen),
        1 => Just(Step::Sync),
    ]
}

/// A device and what it should hold.
struct Checked<'a> {
    device: &'a dyn Device,
    queue: Box<dyn Queue + 'a>,
    oracle: Vec<u8>,
    /// What every read in flight should find; nothing for writes.
    expected: HashMap<u64, Option<Vec<u8>>>,
    /// First and end of everything in flight.
    ranges: HashMap<u64, (u64, u64, Op)>,
    tag: u64,
}

impl Checked<'_> {
    fn reap(&mut self, wait_for: usize) {
        let mut completions = Vec::new();
        self.queue.reap(wait_for, &mut completions).unwrap();
        assert!(completions.len() >= wait_for);
        completions.iter().for_each(|completion| self.check(completion));
    }

    fn check(&mut self, completion: &Completion) {
        self.ranges.remove(&completion.tag).unwrap();
        match self.expected.remove(&completion.tag).unwrap() {
            None => assert_eq!(completion.result, Ok(completion.len)),
            Some(expected) => {
                assert_eq!(completion.result, Ok(expected.len()));
                assert_eq!(completion.buffer[..expected.len()], expected);
            }
        }
    }

    fn drain(&mut self) {
        self.reap(self.queue.in_flight());
    }

    /// Overlapping transfers have no order among each other, so they wait for one another.
    fn make_room(&mut self, start: u64, end: u64, op: Op) {
        let overlaps = |&(first, last, other): &(u64, u64, Op)| {
            (op == Op::Write || other == Op::Write) && first < end && start < last
        };
        // A growing write changes how far a read reaches.
        let grows = op == Op::Write && end > self.oracle.len() as u64;
        let is_growing = self.ranges.values().any(|range| range.1 > self.oracle.len() as u64);
        let is_full = self.queue.in_flight() == self.queue.depth();
        if grows || is_growing || is_full || self.ranges.values().any(overlaps) {
            self.drain();
        }
    }

    fn transfer(&mut self, op: Op, offset: u64, buffer: Buffer, expected: Option<Vec<u8>>) {
        let len = buffer.len();
        self.tag += 1;
        self.expected.insert(self.tag, expected);
        self.ranges.insert(self.tag, (offset, offset + len as u64, op));
        self.queue.push(request(self.tag, op, offset, len, buffer));
    }

    fn read(&mut self, offset: u64, len: usize) {
        self.make_room(offset, offset + len as u64, Op::Read);
        let known = self.oracle.get(offset as usize..).unwrap_or(&[]);
        let expected = known[..known.len().min(len)].to_vec();
        self.transfer(Op::Read, offset, Buffer::new(len).unwrap(), Some(expected));
    }

    fn write(&mut self, offset: u64, buffer: Buffer) {
        let end = offset as usize + buffer.len();
        self.make_room(offset, end as u64, Op::Write);
        let grows = end > self.oracle.len();
        self.oracle.resize(self.oracle.len().max(end), 0);
        self.oracle[offset as usize..end].copy_from_slice(&buffer);
        self.transfer(Op::Write, offset, buffer, None);
        if grows {
            self.drain();
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Read { sector, sectors } => {
                self.read(sector * SECTOR, (sectors * SECTOR) as usize);
            }
            Step::Write { sector, sectors, seed } => {
                self.write(sector * SECTOR, pattern(seed, (sectors * SECTOR) as usize));
            }
            Step::Submit => self.queue.submit().unwrap(),
            Step::Reap(count) => self.reap(count.min(self.queue.in_flight())),
            Step::SetLen(bytes) => {
                self.drain();
                self.device.set_len(bytes).unwrap();
                self.oracle.resize(bytes as usize, 0);
            }
            Step::Sync => self.device.sync().unwrap(),
        }
        assert_eq!(self.queue.in_flight(), self.ranges.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_steps_agree_with_a_vector(steps in vec(step(), 1..60), depth in 1..12usize) {
        for (name, device) in Devices::all().list {
            println!("{name}");
            let mut checked = Checked {
                device: &*device,
                queue: device.queue(&QueueConfig::with_depth(depth)).unwrap(),
                oracle: Vec::new(),
                expected: HashMap::new(),
                ranges: HashMap::new(),
                tag: 0,
            };
            for step in &steps {
                checked.step(step);
            }
            checked.drain();
            let len = checked.oracle.len();
            checked.read(0, (len + 1).next_multiple_of(512));
            checked.drain();
        }
    }
}
