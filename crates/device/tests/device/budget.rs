//! The I/O budget of a device: never more at once, never stuck, nothing lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cenote_device::backend::file::BackendChoice;
use cenote_device::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, When};
use cenote_device::wrapper::{BudgetDevice, IoBudget, Layer, Throttle, ThrottleDevice};
use cenote_device::{Arena, Buffer, Completion, Device, Op, Queue, QueueConfig, Request, Result};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{
    BLOCK, directory, drain, errno, ideal_model, open, pattern, request, sim, write_pattern,
};

/// Counts what is at the device, and keeps the order in which each queue's requests came.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn Device>,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    now: [AtomicUsize; 2],
    max: [AtomicUsize; 2],
    /// Tags by queue and operation.
    orders: Mutex<Vec<[Vec<u64>; 2]>>,
}

fn kind(op: Op) -> usize {
    usize::from(op == Op::Write)
}

impl Seen {
    fn max(&self, op: Op) -> usize {
        self.max[kind(op)].load(Ordering::SeqCst)
    }
}

impl Layer for Watched {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        let inner = self.inner.queue(config)?;
        let mut orders = self.seen.orders.lock().unwrap();
        orders.push(Default::default());
        let index = orders.len() - 1;
        Ok(Box::new(WatchedQueue { inner, seen: Arc::clone(&self.seen), index, own: [0; 2] }))
    }
}

struct WatchedQueue {
    inner: Box<dyn Queue>,
    seen: Arc<Seen>,
    index: usize,
    own: [usize; 2],
}

impl Queue for WatchedQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn push(&mut self, request: Request) {
        let kind = kind(request.op);
        let now = self.seen.now[kind].fetch_add(1, Ordering::SeqCst) + 1;
        self.seen.max[kind].fetch_max(now, Ordering::SeqCst);
        self.own[kind] += 1;
        self.seen.orders.lock().unwrap()[self.index][kind].push(request.tag);
        self.inner.push(request);
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        self.inner.reap(wait_for, completions)?;
        for completion in &completions[before..] {
            self.own[kind(completion.op)] -= 1;
            self.seen.now[kind(completion.op)].fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

impl Drop for WatchedQueue {
    fn drop(&mut self) {
        for (now, own) in self.seen.now.iter().zip(self.own) {
            now.fetch_sub(own, Ordering::SeqCst);
        }
    }
}

/// A device within a budget, and what happens below it.
fn watched(
    inner: Arc<dyn Device>,
    reads: usize,
    writes: usize,
) -> (Arc<BudgetDevice>, Arc<IoBudget>, Arc<Seen>) {
    let (seen, budget) = (Arc::new(Seen::default()), IoBudget::new(reads, writes));
    let below = Arc::new(Watched { inner, seen: Arc::clone(&seen) });
    (Arc::new(BudgetDevice::new(below, Arc::clone(&budget))), budget, seen)
}

fn push(queue: &mut dyn Queue, op: Op, tag: u64) {
    let buffer = Buffer::new(BLOCK).unwrap();
    queue.push(request(tag, op, tag % 64 * BLOCK as u64, BLOCK, buffer));
}

fn queue(device: &dyn Device, depth: usize) -> Box<dyn Queue> {
    device.queue(&QueueConfig::with_depth(depth)).unwrap()
}

fn timing_only() -> Arc<dyn Device> {
    let device = SimDevice::new(SimConfig::timing_only(ideal_model()));
    device.set_len(64 * BLOCK as u64).unwrap();
    Arc::new(device)
}

fn file(directory: &tempfile::TempDir) -> Arc<dyn Device> {
    let inner = open(directory.path().join("file"), BackendChoice::Threads, true).unwrap();
    write_pattern(&*inner, 1, 0, 64 * BLOCK);
    inner
}

#[derive(Clone, Debug)]
enum Step {
    Push { queue: usize, op: Op },
    Submit(usize),
    Reap { queue: usize, share: f64 },
    SetLimits(usize, usize),
    Reopen(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let op = || prop_oneof![Just(Op::Read), Just(Op::Write)];
    prop_oneof![
        12 => (0..4usize, op()).prop_map(|(queue, op)| Step::Push { queue, op }),
        3 => (0..4usize).prop_map(Step::Submit),
        4 => (0..4usize, 0.0..=1.0).prop_map(|(queue, share)| Step::Reap { queue, share }),
        1 => (0..6usize, 0..6usize).prop_map(|(reads, writes)| Step::SetLimits(reads, writes)),
        1 => (0..4usize).prop_map(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn one_thread_with_many_queues_never_hangs_and_keeps_the_order(
        steps in vec(step(), 1..120),
        reads in 1..6usize,
        writes in 1..6usize,
        count in 1..=4usize,
    ) {
        let (device, budget, seen) = watched(timing_only(), reads, writes);
        let mut queues: Vec<_> = (0..count).map(|_| queue(&*device, 12)).collect();
        // By queue ever opened: what was pushed, by operation.
        let mut pushed: Vec<[Vec<u64>; 2]> = vec![Default::default(); count];
        let mut names: Vec<usize> = (0..count).collect();
        let mut in_flight = vec![0; count];
        let (mut limit_max, mut tag) = ([reads, writes], 0);
        for step in steps {
            match step {
                Step::Push { queue, op } => {
                    let i = queue % count;
                    if in_flight[i] < 12 {
                        push(queues[i].as_mut(), op, tag);
                        pushed[names[i]][kind(op)].push(tag);
                        (in_flight[i], tag) = (in_flight[i] + 1, tag + 1);
                    }
                }
                Step::Submit(queue) => queues[queue % count].submit().unwrap(),
                Step::Reap { queue, share } => {
                    let i = queue % count;
                    let wait_for = (in_flight[i] as f64 * share) as usize;
                    let mut completions = Vec::new();
                    queues[i].reap(wait_for, &mut completions).unwrap();
                    prop_assert!(completions.len() >= wait_for);
                    in_flight[i] -= completions.len();
                }
                Step::SetLimits(reads, writes) => {
                    budget.set_limits(reads, writes);
                    limit_max = [limit_max[0].max(reads), limit_max[1].max(writes)];
                }
                Step::Reopen(queue) => {
                    let i = queue % count;
                    queues[i] = self::queue(&*device, 12);
                    (names[i], in_flight[i]) = (pushed.len(), 0);
                    pushed.push(Default::default());
                }
            }
            for (queue, expected) in queues.iter().zip(&in_flight) {
                prop_assert_eq!(queue.in_flight(), *expected);
            }
        }
        queues.iter_mut().for_each(|queue| drop(drain(queue.as_mut())));
        // Reopening has the old and the new queue at once.
        let queues_max = count + usize::from(pushed.len() > count);
        for (op, limit) in [Op::Read, Op::Write].into_iter().zip(limit_max) {
            let (found, bound) = (seen.max(op), limit + queues_max - 1);
            prop_assert!(found <= bound, "{} {op}s at once, {bound} may be", found);
        }
        prop_assert_eq!(&*seen.orders.lock().unwrap(), &pushed);
        let stats = budget.stats();
        prop_assert_eq!((stats.reads.in_flight, stats.writes.in_flight), (0, 0));
        prop_assert_eq!(stats.reads.in_flight_max, seen.max(Op::Read));
        prop_assert_eq!(stats.writes.in_flight_max, seen.max(Op::Write));
    }
}

/// A simple generator: threads want no proptest of their own.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Random pushes and reaps until `count` requests are complete.
fn work(device: &dyn Device, seed: u64, count: u64) {
    let mut random = seed;
    let depth = 1 + next(&mut random) as usize % 16;
    let mut queue = queue(device, depth);
    let (mut pushed, mut done, mut completions) = (0, 0, Vec::new());
    while done < count {
        while pushed < count && queue.in_flight() < depth && !next(&mut random).is_multiple_of(8) {
            let op = if next(&mut random).is_multiple_of(2) { Op::Read } else { Op::Write };
            push(queue.as_mut(), op, pushed);
            pushed += 1;
            if next(&mut random).is_multiple_of(3) {
                queue.submit().unwrap();
            }
        }
        let wait_for = next(&mut random) as usize % (queue.in_flight() + 1);
        queue.reap(wait_for, &mut completions).unwrap();
        assert!(completions.iter().all(|done| done.result == Ok(BLOCK)), "seed {seed}");
        done += completions.drain(..).count() as u64;
    }
    assert_eq!((queue.in_flight(), done), (0, count), "seed {seed}");
}

#[test]
fn many_threads_stay_within_the_budget_while_it_changes() {
    let directory = directory();
    for (inner, count) in [(timing_only(), 3000), (file(&directory), 300)] {
        let (device, budget, seen) = watched(inner, 5, 3);
        let other_way = BudgetDevice::new(
            Arc::new(Watched { inner: timing_only(), seen: Arc::clone(&seen) }),
            Arc::clone(&budget),
        );
        std::thread::scope(|scope| {
            for seed in 0..3 {
                scope.spawn({
                    let device = Arc::clone(&device);
                    move || work(&*device, seed, count)
                });
            }
            scope.spawn(|| work(&other_way, 3, count));
            scope.spawn(|| {
                for round in 0..200 {
                    budget.set_limits(1 + round % 5, 1 + round % 3);
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
        });
        assert!(seen.max(Op::Read) <= 5 + 3, "{}", seen.max(Op::Read));
        assert!(seen.max(Op::Write) <= 3 + 3, "{}", seen.max(Op::Write));
        let stats = budget.stats();
        assert_eq!((stats.reads.in_flight, stats.writes.in_flight), (0, 0));
        for order in seen.orders.lock().unwrap().iter().flatten() {
            assert!(order.is_sorted(), "a queue's requests of a kind overtook each other");
        }
        assert_eq!(
            seen.orders.lock().unwrap().iter().flatten().flatten().count() as u64,
            4 * count
        );
    }
}

#[test]
fn one_queue_gets_the_whole_budget_and_not_more() {
    let (device, budget, seen) = watched(timing_only(), 6, 3);
    let mut queue = queue(&*device, 32);
    for tag in 0..32 {
        push(queue.as_mut(), if tag % 2 == 0 { Op::Read } else { Op::Write }, tag);
    }
    assert_eq!(drain(queue.as_mut()).len(), 32);
    assert_eq!((seen.max(Op::Read), seen.max(Op::Write)), (6, 3));
    assert_eq!((budget.stats().reads.overdrafts, budget.stats().writes.overdrafts), (0, 0));
}

#[test]
fn queue_whose_permits_are_all_elsewhere_goes_on_one_by_one() {
    let (device, budget, seen) = watched(timing_only(), 4, 4);
    // It holds all permits and is never reaped.
    let mut holder = queue(&*device, 4);
    (0..4).for_each(|tag| push(holder.as_mut(), Op::Read, tag));
    holder.submit().unwrap();
    let mut other = queue(&*device, 8);
    (0..8).for_each(|tag| push(other.as_mut(), Op::Read, tag));
    let order: Vec<u64> = drain(other.as_mut()).iter().map(|read| read.tag).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
    let stats = budget.stats().reads;
    assert_eq!((seen.max(Op::Read), stats.overdrafts), (5, 8));
    // The holder goes without ever having reaped; what it held comes back.
    drop(holder);
    assert_eq!(budget.stats().reads.in_flight, 0);
    (0..8).for_each(|tag| push(other.as_mut(), Op::Read, tag));
    drain(other.as_mut());
    assert_eq!(budget.stats().reads.overdrafts, 8, "none on top any more");
}

#[test]
fn requests_on_top_count_so_the_sum_falls_back_to_the_limit() {
    let (device, budget, seen) = watched(timing_only(), 2, 2);
    let mut queues: Vec<_> = (0..4).map(|_| queue(&*device, 4)).collect();
    for queue in &mut queues {
        (0..4).for_each(|tag| push(queue.as_mut(), Op::Write, tag));
        queue.submit().unwrap();
    }
    assert_eq!(budget.stats().writes.in_flight, 2 + 3, "one queue has all, three have one");
    let mut first = Vec::new();
    queues[0].reap(2, &mut first).unwrap();
    assert_eq!(budget.stats().writes.in_flight, 4, "as many as queues: nothing but the one each");
    queues.iter_mut().for_each(|queue| drop(drain(queue.as_mut())));
    assert_eq!(seen.max(Op::Write), 5);
}

#[test]
fn reads_pass_writes_that_wait() {
    let (device, _, seen) = watched(timing_only(), 4, 1);
    let mut queue = queue(&*device, 8);
    for (tag, op) in [Op::Write, Op::Write, Op::Read, Op::Write, Op::Read].iter().enumerate() {
        push(queue.as_mut(), *op, tag as u64);
    }
    queue.submit().unwrap();
    assert_eq!(seen.orders.lock().unwrap()[0], [vec![2, 4], vec![0]]);
    assert_eq!((queue.in_flight(), drain(queue.as_mut()).len()), (5, 5));
}

#[test]
fn time_waited_is_reported_in_virtual_time() {
    // Reads take 100 us; of six with two permits, two wait 100 us and two 200 us.
    let (device, budget, _) = watched(timing_only(), 2, 2);
    let mut queue = queue(&*device, 6);
    (0..6).for_each(|tag| push(queue.as_mut(), Op::Read, tag));
    let latencies: Vec<u64> = drain(queue.as_mut()).iter().map(|read| read.latency_ns).collect();
    assert_eq!(latencies, [100_000; 6], "the device's own");
    let stats = budget.stats().reads;
    assert_eq!((stats.waits, stats.wait_ns), (4, 600_000));
    assert_eq!((stats.limit, stats.in_flight_max, stats.in_flight), (2, 2, 0));
    assert_eq!(device.clock().now_ns(), 300_000);
}

#[test]
fn ample_budget_changes_neither_order_nor_time() {
    let run = |wrap: bool| {
        let faults = FaultPlan::seeded(7).with(When::ReadChance(0.1), Effect::Errno(libc::EIO));
        let config = SimConfig::timing_only(ideal_model()).jitter(0.5).faults(faults);
        let inner = Arc::new(SimDevice::new(config));
        inner.set_len(64 * BLOCK as u64).unwrap();
        let budget = IoBudget::new(64, 64);
        let device: Arc<dyn Device> =
            if wrap { Arc::new(BudgetDevice::new(inner, budget)) } else { inner };
        let mut queue = queue(&*device, 32);
        let (mut random, mut ends, mut completions) = (1, Vec::new(), Vec::new());
        for tag in 0..2000 {
            let op = if next(&mut random).is_multiple_of(2) { Op::Read } else { Op::Write };
            push(queue.as_mut(), op, tag);
            if queue.in_flight() == 32 {
                queue.reap(1 + next(&mut random) as usize % 32, &mut completions).unwrap();
                let heard = completions.drain(..).map(|done| (done.tag, errno(&done)));
                ends.extend(heard);
                ends.push((device.clock().now_ns(), None));
            }
        }
        ends
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn larger_limit_is_used_and_smaller_one_reached_while_running() {
    let (device, budget, seen) = watched(timing_only(), 2, 2);
    let mut queue = queue(&*device, 64);
    (0..64).for_each(|tag| push(queue.as_mut(), Op::Read, tag));
    queue.submit().unwrap();
    assert_eq!(budget.stats().reads.in_flight, 2);
    budget.set_limits(7, 2);
    queue.submit().unwrap();
    assert_eq!(budget.stats().reads.in_flight, 7);
    budget.set_limits(3, 2);
    let mut completions = Vec::new();
    while queue.in_flight() > 7 {
        queue.reap(1, &mut completions).unwrap();
    }
    assert!(budget.stats().reads.in_flight <= 3, "{:?}", budget.stats());
    drain(queue.as_mut());
    assert_eq!(seen.max(Op::Read), 7);
}

#[test]
fn failed_and_short_requests_give_their_permits_back() {
    let plan = FaultPlan::seeded(3)
        .with(When::ReadChance(0.3), Effect::Errno(libc::EIO))
        .with(When::ReadChance(0.3), Effect::ShortRead)
        .with(When::WriteChance(0.5), Effect::Errno(libc::EIO));
    let inner = sim(plan);
    inner.set_len(64 * BLOCK as u64).unwrap();
    let (device, budget, seen) = watched(Arc::new(inner), 2, 2);
    let mut queue = queue(&*device, 16);
    let mut failed = 0;
    for round in 0..50 {
        for tag in 0..16 {
            push(queue.as_mut(), if tag % 2 == 0 { Op::Read } else { Op::Write }, round * 16 + tag);
        }
        let completions = drain(queue.as_mut());
        assert_eq!(completions.len(), 16);
        failed += completions.iter().filter(|done| errno(done) == Some(libc::EIO)).count();
        let stats = budget.stats();
        assert_eq!((stats.reads.in_flight, stats.writes.in_flight), (0, 0));
    }
    assert!((200..440).contains(&failed), "{failed} of 800 failed");
    assert_eq!((seen.max(Op::Read), seen.max(Op::Write)), (2, 2));
}

#[test]
fn dropped_queue_writes_what_waited_and_returns_its_permits_and_buffers() {
    let directory = directory();
    let (device, budget, seen) = watched(file(&directory), 2, 2);
    let (arena, buffers) = Arena::carve(BLOCK, 16).unwrap();
    let mut queue = queue(&*device, 16);
    for (tag, mut buffer) in (0..16).zip(buffers) {
        buffer.copy_from_slice(&pattern(100 + tag, BLOCK));
        queue.push(request(tag, Op::Write, tag * BLOCK as u64, BLOCK, buffer));
    }
    queue.submit().unwrap();
    drop(queue);
    assert_eq!(Arc::strong_count(&arena), 1, "the buffers are free");
    assert_eq!((budget.stats().writes.in_flight, seen.max(Op::Write)), (0, 2));
    for tag in 0..16 {
        let found = crate::support::read(&*device, tag * BLOCK as u64, BLOCK);
        crate::support::assert_pattern(&found, 100 + tag, "after the drop");
    }
}

#[test]
fn device_whose_queues_break_keeps_no_permit() {
    let inner = Arc::new(Broken { inner: timing_only() });
    let budget = IoBudget::new(2, 2);
    let device = BudgetDevice::new(inner, Arc::clone(&budget));
    let mut queue = queue(&device, 8);
    (0..8).for_each(|tag| push(queue.as_mut(), Op::Read, tag));
    assert!(queue.reap(1, &mut Vec::new()).is_err());
    assert_eq!((queue.in_flight(), budget.stats().reads.in_flight), (8, 2));
    drop(queue);
    assert_eq!(budget.stats().reads.in_flight, 0);
}

/// A device whose queues take requests and then break.
#[derive(Debug)]
struct Broken {
    inner: Arc<dyn Device>,
}

struct BrokenQueue(Box<dyn Queue>);

impl Queue for BrokenQueue {
    fn depth(&self) -> usize {
        self.0.depth()
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn push(&mut self, request: Request) {
        self.0.push(request);
    }

    fn submit(&mut self) -> Result<()> {
        self.0.submit()
    }

    fn reap(&mut self, _: usize, _: &mut Vec<Completion>) -> Result<()> {
        let source = std::io::Error::from_raw_os_error(libc::EBADF);
        Err(cenote_device::DeviceError::File { device: "broken".into(), action: "use", source })
    }
}

impl Layer for Broken {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        Ok(Box::new(BrokenQueue(self.inner.queue(config)?)))
    }
}

#[test]
fn waiting_for_permits_uses_no_cpu() {
    let directory = directory();
    let latency = Duration::from_millis(20);
    let slow = ThrottleDevice::new(file(&directory), Throttle { latency, ..Throttle::default() });
    let (device, _, seen) = watched(Arc::new(slow), 2, 2);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut queue = queue(&*device, 8);
                let (began, cpu) = (Instant::now(), crate::waiting::cpu_time(libc::RUSAGE_THREAD));
                for _ in 0..3 {
                    (0..8).for_each(|tag| push(queue.as_mut(), Op::Read, tag));
                    assert_eq!(drain(queue.as_mut()).len(), 8);
                }
                let (wall, cpu) =
                    (began.elapsed(), crate::waiting::cpu_time(libc::RUSAGE_THREAD) - cpu);
                let share = cpu.as_secs_f64() / wall.as_secs_f64();
                assert!(wall >= Duration::from_millis(240), "eight at most at once: {wall:?}");
                assert!(share < 0.1, "{:.1}% CPU while waiting", share * 100.0);
            });
        }
    });
    assert!(seen.max(Op::Read) <= 2 + 2, "{}", seen.max(Op::Read));
}
