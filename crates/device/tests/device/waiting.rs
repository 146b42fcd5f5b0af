//! Waiting costs no CPU time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_device::backend::file::BackendChoice;
use cenote_device::wrapper::{StatsDevice, Throttle, ThrottleDevice};
use cenote_device::{Buffer, Device, Op, QueueConfig};

use crate::support::{BLOCK, directory, drain, open, request, write_pattern};

/// CPU time of this thread, or of the whole process.
pub fn cpu_time(who: libc::c_int) -> Duration {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live rusage.
    assert_eq!(unsafe { libc::getrusage(who, &raw mut usage) }, 0);
    let of = |time: libc::timeval| {
        Duration::new(time.tv_sec as u64, 0) + Duration::from_micros(time.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

#[test]
fn thread_that_waits_for_a_slow_device_uses_no_cpu() {
    let directory = directory();
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let inner = open(directory.path().join("file"), backend, true).unwrap();
        write_pattern(&*inner, 1, 0, 8 * BLOCK);
        let slow = Throttle { bytes_per_second: None, latency: Duration::from_millis(40) };
        let device = ThrottleDevice::new(inner, slow);
        let mut queue = device.queue(&QueueConfig::with_depth(8)).unwrap();
        let (began, cpu) = (Instant::now(), cpu_time(libc::RUSAGE_THREAD));
        for _ in 0..10 {
            for tag in 0..8 {
                let at = tag * BLOCK as u64;
                queue.push(request(tag, Op::Read, at, BLOCK, Buffer::new(BLOCK).unwrap()));
            }
            assert!(drain(queue.as_mut()).iter().all(|read| read.latency_ns >= 40_000_000));
        }
        let (wall, cpu) = (began.elapsed(), cpu_time(libc::RUSAGE_THREAD) - cpu);
        let share = cpu.as_secs_f64() / wall.as_secs_f64();
        assert!(wall >= Duration::from_millis(400), "the throttle was not felt: {wall:?}");
        assert!(share < 0.05, "{}: {:.1}% CPU while waiting", device.backend(), share * 100.0);
    }
}

#[test]
fn throttle_limits_the_rate_of_all_queues_together() {
    let directory = directory();
    let inner = open(directory.path().join("file"), BackendChoice::Auto, true).unwrap();
    write_pattern(&*inner, 1, 0, 1 << 20);
    let rate = Throttle { bytes_per_second: Some(10 << 20), latency: Duration::ZERO };
    let device: Arc<dyn Device> = Arc::new(ThrottleDevice::new(inner, rate));
    let counted = StatsDevice::new(device);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut queue = counted.queue(&QueueConfig::with_depth(4)).unwrap();
                for round in 0..4u64 {
                    for i in 0..4u64 {
                        let at = (round * 4 + i) << 16;
                        let buffer = Buffer::new(1 << 16).unwrap();
                        queue.push(request(i, Op::Read, at, 1 << 16, buffer));
                    }
                    drain(queue.as_mut());
                }
            });
        }
    });
    // 2 MiB at 10 MiB per second.
    let wall = began.elapsed();
    assert!(wall >= Duration::from_millis(195), "{wall:?}");
    let stats = counted.stats();
    assert_eq!((stats.reads, stats.bytes_read, stats.writes), (32, 2 << 20, 0));
    assert_eq!(stats.read_latency.count(), 32);
}

#[test]
fn stats_count_what_passed_and_what_failed() {
    let directory = directory();
    let inner = open(directory.path().join("file"), BackendChoice::Auto, true).unwrap();
    let device = StatsDevice::new(inner);
    write_pattern(&device, 1, 0, 4 * BLOCK);
    let before = device.stats();
    let short = crate::support::one(&device, Op::Read, 0, Buffer::new(8 * BLOCK).unwrap());
    assert_eq!(short.result, Ok(4 * BLOCK));
    device.sync().unwrap();
    let since = device.stats().since(&before);
    assert_eq!((since.reads, since.writes, since.syncs), (1, 0, 1));
    assert_eq!((since.bytes_read, since.bytes_written), (4 * BLOCK as u64, 0));
    assert_eq!((before.writes, before.bytes_written), (1, 4 * BLOCK as u64));
    let p50 = since.read_latency.quantile_ns(0.5).unwrap();
    assert!(p50 >= short.latency_ns && p50 <= short.latency_ns * 9 / 8 + 1);
}
