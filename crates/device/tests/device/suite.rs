//! The contract of a device, on every backend.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Arc;

use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_device::{Arena, Buffer, DeviceError, Op, QueueConfig, read_exact, write_all};

use crate::support::{
    BLOCK, Devices, assert_pattern, directory, drain, one, open, pattern, read, request,
    write_pattern,
};

#[test]
fn what_was_written_is_read() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 1, 0, 4 * BLOCK);
        write_pattern(&*device, 2, BLOCK as u64, BLOCK);
        assert_pattern(&read(&*device, 0, BLOCK), 1, name);
        assert_pattern(&read(&*device, BLOCK as u64, BLOCK), 2, name);
        assert_eq!(device.len_bytes().unwrap(), 4 * BLOCK as u64, "{name}");
        device.sync().unwrap();
        assert_pattern(&read(&*device, BLOCK as u64, BLOCK), 2, name);
    }
}

#[test]
fn requests_one_by_one_are_those_of_every_other_queue() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 1, 0, 2 * BLOCK);
        let mut queue = device.queue(&QueueConfig::one_by_one()).unwrap();
        for round in 0..3 {
            let write = request(7, Op::Write, BLOCK as u64, BLOCK, pattern(round, BLOCK));
            queue.push(write);
            queue.submit().unwrap();
            assert_eq!(drain(queue.as_mut())[0].result, Ok(BLOCK), "{name}");
            queue.push(request(8, Op::Read, BLOCK as u64, BLOCK, Buffer::new(BLOCK).unwrap()));
            // Another thread may wait.
            let (found, returned) = std::thread::scope(|scope| {
                let wait = scope.spawn(move || (drain(queue.as_mut()).remove(0), queue));
                wait.join().unwrap()
            });
            queue = returned;
            assert_eq!((found.tag, found.result), (8, Ok(BLOCK)), "{name}");
            assert_pattern(&found.buffer, round, name);
        }
        // It ends with the file.
        queue.push(request(9, Op::Read, BLOCK as u64, 2 * BLOCK, Buffer::new(2 * BLOCK).unwrap()));
        assert_eq!(drain(queue.as_mut())[0].result, Ok(BLOCK), "{name}");
    }
}

#[test]
fn a_depth_that_no_queue_has_is_an_error_that_names_the_range() {
    for (name, device) in Devices::all().list {
        for depth in [0, 4097, 10_000, usize::MAX] {
            let error = device.queue(&QueueConfig::with_depth(depth)).map(drop).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains(&format!("{depth} is not within 1 to 4096")),
                "{name}: {message}"
            );
        }
        assert_eq!(device.queue(&QueueConfig::with_depth(4096)).unwrap().depth(), 4096, "{name}");
    }
}

#[test]
fn deep_batch_returns_every_request_with_its_own_bytes() {
    const COUNT: usize = 128;
    for (name, device) in Devices::all().list {
        let (arena, mut buffers) = Arena::carve(BLOCK, COUNT).unwrap();
        let config = QueueConfig::with_depth(COUNT).arenas(vec![arena]);
        let mut queue = device.queue(&config).unwrap();
        for i in 0..COUNT {
            let mut buffer = buffers.pop().unwrap();
            buffer.copy_from_slice(&pattern(i as u64, BLOCK));
            queue.push(request(i as u64, Op::Write, (i * BLOCK) as u64, BLOCK, buffer));
        }
        let written = drain(queue.as_mut());
        assert_eq!(written.len(), COUNT, "{name}");
        assert!(written.iter().all(|write| write.result == Ok(BLOCK)), "{name}");
        buffers.extend(written.into_iter().map(|write| write.buffer));
        for i in 0..COUNT {
            let block = (i * 37) % COUNT;
            let buffer = buffers.pop().unwrap();
            queue.push(request(block as u64, Op::Read, (block * BLOCK) as u64, BLOCK, buffer));
        }
        assert_eq!(queue.in_flight(), COUNT, "{name}");
        let mut seen = [false; COUNT];
        while queue.in_flight() > 0 {
            let mut some = Vec::new();
            queue.reap(1, &mut some).unwrap();
            assert!(!some.is_empty(), "{name}: reap(1) returns at least one");
            for read in some {
                assert_eq!(read.result, Ok(BLOCK), "{name}");
                assert_eq!(read.offset, read.tag * BLOCK as u64, "{name}");
                assert_pattern(&read.buffer, read.tag, name);
                assert!(!std::mem::replace(&mut seen[read.tag as usize], true), "{name}: twice");
            }
        }
        assert!(seen.iter().all(|&seen| seen), "{name}");
    }
}

#[test]
fn collecting_without_waiting_returns_what_is_there() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 1, 0, BLOCK);
        let mut queue = device.queue(&QueueConfig::with_depth(2)).unwrap();
        let mut completions = Vec::new();
        queue.reap(0, &mut completions).unwrap();
        assert!(completions.is_empty(), "{name}");
        queue.push(request(5, Op::Read, 0, BLOCK, Buffer::new(BLOCK).unwrap()));
        queue.submit().unwrap();
        queue.reap(0, &mut completions).unwrap();
        assert_eq!(completions.len() + queue.in_flight(), 1, "{name}");
        for _ in 0..1000 {
            if !completions.is_empty() || device.backend() == "sim" {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            queue.reap(0, &mut completions).unwrap();
        }
        completions.extend(drain(queue.as_mut()));
        assert_pattern(&completions[0].buffer, 1, name);
    }
}

#[test]
fn registered_and_foreign_buffers_mix() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 3, 0, 4 * BLOCK);
        let (first, mut buffers) = Arena::carve(BLOCK, 2).unwrap();
        let (second, more) = Arena::carve(2 * BLOCK, 1).unwrap();
        buffers.extend(more);
        buffers.push(Buffer::new(BLOCK).unwrap());
        let config = QueueConfig::with_depth(4).arenas(vec![first, second]);
        let mut queue = device.queue(&config).unwrap();
        for (tag, buffer) in buffers.into_iter().enumerate() {
            queue.push(request(tag as u64, Op::Read, 0, buffer.len(), buffer));
        }
        for read in drain(queue.as_mut()) {
            assert_pattern(&read.buffer, 3, name);
        }
    }
}

#[test]
fn queue_on_4096_byte_arena_of_other_queue_still_works() {
    // The same arena is registered with two queues at once.
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 4, 0, BLOCK);
        let (arena, buffers) = Arena::carve(BLOCK, 2).unwrap();
        let config = QueueConfig::with_depth(1).arenas(vec![arena]);
        let mut queues = [device.queue(&config).unwrap(), device.queue(&config).unwrap()];
        for (queue, buffer) in queues.iter_mut().zip(buffers) {
            queue.push(request(0, Op::Read, 0, BLOCK, buffer));
            queue.submit().unwrap();
        }
        for queue in &mut queues {
            assert_pattern(&drain(queue.as_mut())[0].buffer, 4, name);
        }
    }
}

#[test]
fn unaligned_or_oversized_push_panics_and_moves_nothing() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 1, 0, 2 * BLOCK);
        let mut queue = device.queue(&QueueConfig::with_depth(2)).unwrap();
        let mut pushes = vec![(0, 0), (0, 2 * BLOCK)];
        if device.block_bytes() > 1 {
            pushes.extend([(1, 512), (512, 100), (256, 512)]);
        }
        for (offset, len) in pushes {
            let buffer = Buffer::new(BLOCK).unwrap();
            let bad = request(0, Op::Read, offset, len, buffer);
            let pushed = catch_unwind(AssertUnwindSafe(|| queue.push(bad)));
            assert!(pushed.is_err(), "{name}: offset {offset}, {len} bytes");
            assert_eq!(queue.in_flight(), 0, "{name}");
        }
    }
}

#[test]
fn push_to_a_full_queue_and_waiting_for_nothing_panic() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 1, 0, BLOCK);
        let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
        let mut completions = Vec::new();
        let waited = catch_unwind(AssertUnwindSafe(|| queue.reap(1, &mut completions)));
        assert!(waited.is_err(), "{name}: reap would wait for ever");
        queue.push(request(0, Op::Read, 0, BLOCK, Buffer::new(BLOCK).unwrap()));
        let bad = request(1, Op::Read, 0, BLOCK, Buffer::new(BLOCK).unwrap());
        assert!(catch_unwind(AssertUnwindSafe(|| queue.push(bad))).is_err(), "{name}");
        assert_eq!(drain(queue.as_mut()).len(), 1, "{name}");
    }
}

#[test]
fn read_past_the_end_is_short() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 1, 0, 2 * BLOCK);
        let across = one(&*device, Op::Read, BLOCK as u64, Buffer::new(4 * BLOCK).unwrap());
        assert_eq!(across.result, Ok(BLOCK), "{name}");
        let beyond = one(&*device, Op::Read, 8 * BLOCK as u64, Buffer::new(BLOCK).unwrap());
        assert_eq!(beyond.result, Ok(0), "{name}");
        device.set_len(BLOCK as u64 + 1000).unwrap();
        let inside = one(&*device, Op::Read, 0, Buffer::new(4 * BLOCK).unwrap());
        assert_eq!(inside.result, Ok(BLOCK + 1000), "{name}: the end is no multiple of a block");
        assert_pattern(&inside.buffer[..BLOCK + 1000], 1, name);
        let error = read_exact(&*device, 0, 2 * BLOCK, Buffer::new(2 * BLOCK).unwrap());
        let error = error.unwrap_err();
        assert!(matches!(error, DeviceError::Short { found: 5096, .. }), "{name}: {error}");
        assert!(error.to_string().contains("truncated"), "{name}: {error}");
    }
}

#[test]
fn shrunk_and_grown_again_reads_zeros() {
    for (name, device) in Devices::all().list {
        write_pattern(&*device, 1, 0, 4 * BLOCK);
        device.sync().unwrap();
        device.set_len(BLOCK as u64).unwrap();
        assert_eq!(device.len_bytes().unwrap(), BLOCK as u64, "{name}");
        device.set_len(4 * BLOCK as u64).unwrap();
        assert_pattern(&read(&*device, 0, BLOCK), 1, name);
        let grown = read(&*device, BLOCK as u64, 3 * BLOCK);
        assert!(grown.iter().all(|&byte| byte == 0), "{name}");
    }
}

#[test]
fn queue_dropped_with_requests_in_flight_completes_them_and_frees_the_buffers() {
    for (name, device) in Devices::all().list {
        let (arena, buffers) = Arena::carve(BLOCK, 32).unwrap();
        let config = QueueConfig::with_depth(32).arenas(vec![Arc::clone(&arena)]);
        let mut queue = device.queue(&config).unwrap();
        for (i, mut buffer) in buffers.into_iter().enumerate() {
            buffer.copy_from_slice(&pattern(i as u64, BLOCK));
            queue.push(request(i as u64, Op::Write, (i * BLOCK) as u64, BLOCK, buffer));
            if i == 20 {
                queue.submit().unwrap();
            }
        }
        queue.submit().unwrap();
        drop(queue);
        drop(config);
        assert_eq!(Arc::strong_count(&arena), 1, "{name}: the buffers are free");
        for i in 0..32 {
            assert_pattern(&read(&*device, (i * BLOCK) as u64, BLOCK), i as u64, name);
        }
    }
}

#[test]
fn many_threads_each_with_its_own_queue() {
    const ROUNDS: u64 = 20;
    for (name, device) in Devices::all().list {
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let device = Arc::clone(&device);
                scope.spawn(move || {
                    let mut queue = device.queue(&QueueConfig::with_depth(4)).unwrap();
                    let base = thread * 16 * BLOCK as u64;
                    for round in 0..ROUNDS {
                        let seed = thread * 1000 + round;
                        for i in 0..4 {
                            let at = base + i * BLOCK as u64;
                            queue.push(request(i, Op::Write, at, BLOCK, pattern(seed + i, BLOCK)));
                        }
                        for write in drain(queue.as_mut()) {
                            queue.push(request(
                                write.tag,
                                Op::Read,
                                write.offset,
                                BLOCK,
                                write.buffer,
                            ));
                        }
                        for read in drain(queue.as_mut()) {
                            assert_pattern(&read.buffer, seed + read.tag, name);
                        }
                    }
                });
            }
        });
        assert_eq!(device.len_bytes().unwrap(), (7 * 16 + 4) * BLOCK as u64, "{name}");
    }
}

#[test]
fn latency_and_clock_agree() {
    for (name, device) in Devices::all().list {
        let clock = device.clock();
        let before = clock.now_ns();
        let write = one(&*device, Op::Write, 0, pattern(1, BLOCK));
        let after = clock.now_ns();
        assert!(write.latency_ns > 0, "{name}");
        assert!(write.latency_ns <= after - before, "{name}: {} ns", write.latency_ns);
    }
}

#[test]
fn writing_through_a_read_only_device_fails() {
    let directory = directory();
    let path = directory.path().join("file");
    std::fs::write(&path, [7; BLOCK]).unwrap();
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let options = OpenOptions::reading().backend(backend);
        let device = file::open(&path, &options).unwrap();
        assert_eq!(read(&*device, 0, BLOCK), [7; BLOCK]);
        let error = write_all(&*device, 0, BLOCK, pattern(1, BLOCK)).unwrap_err().to_string();
        assert!(error.contains("write of 4096 bytes at offset 0 failed"), "{error}");
        assert!(error.contains("Bad file descriptor"), "{error}");
    }
}

#[test]
fn file_without_a_name_is_a_device() {
    let directory = directory();
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let file = tempfile::tempfile_in(directory.path()).unwrap();
        let options = OpenOptions::default().backend(backend);
        let device = file::from_file(file, "spill", &options).unwrap();
        assert_eq!(device.name(), "spill");
        write_pattern(&*device, 9, 0, 2 * BLOCK);
        assert_pattern(&read(&*device, 0, 2 * BLOCK), 9, "spill");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn missing_file_directory_and_pipe_are_named_in_the_error() {
    let directory = directory();
    let path = directory.path().join("missing");
    let error = file::open(&path, &OpenOptions::default()).unwrap_err().to_string();
    assert!(error.contains("missing: cannot open: No such file"), "{error}");
    let error = file::open(directory.path(), &OpenOptions::reading()).unwrap_err().to_string();
    assert!(error.contains("it is a directory"), "{error}");
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = file::open(&pipe, &OpenOptions::reading()).unwrap_err().to_string();
    assert!(error.contains("it is no file or block device"), "{error}");
}

#[test]
fn forbidden_file_is_named_in_the_error() {
    let directory = directory();
    let path = directory.path().join("secret");
    std::fs::write(&path, [0; BLOCK]).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let error = std::thread::spawn(move || {
        // SAFETY: this thread alone gives up its rights on files, and ends with the closure.
        unsafe { libc::setfsuid(65534) };
        file::open(&path, &OpenOptions::reading()).unwrap_err().to_string()
    });
    let error = error.join().unwrap();
    assert!(error.contains("cannot open: Permission denied"), "{error}");
}

#[test]
fn memory_file_system_is_used_through_the_page_cache() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm");
        return;
    };
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let device = open(directory.path().join("file"), backend, true).unwrap();
        assert_eq!(device.block_bytes(), 1);
        write_all(&*device, 3, 1000, pattern(5, 1000)).unwrap();
        let read = read_exact(&*device, 3, 1000, Buffer::new(1024).unwrap()).unwrap();
        assert_pattern(&read[..1000], 5, device.backend());
    }
}

#[test]
fn block_device_of_512_and_4096_byte_sectors() {
    let directory = directory();
    let image = directory.path().join("image");
    std::fs::write(&image, vec![0; 1 << 20]).unwrap();
    for sector in [512, 4096] {
        let made = Command::new("losetup")
            .args(["--find", "--show", "--sector-size", &sector.to_string()])
            .arg(&image)
            .output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            println!("skipped: no loop devices here");
            return;
        };
        let path = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        let outcome = catch_unwind(|| {
            for backend in [BackendChoice::Auto, BackendChoice::Threads] {
                let options = OpenOptions::default().backend(backend);
                let device = file::open(path.as_ref(), &options).unwrap();
                assert_eq!(device.block_bytes(), sector);
                assert_eq!(device.len_bytes().unwrap(), 1 << 20);
                device.set_len(1 << 19).unwrap();
                let error = device.set_len(2 << 20).unwrap_err().to_string();
                assert!(error.contains("the block device has 1048576"), "{error}");
                write_pattern(&*device, 6, 8192, sector);
                device.sync().unwrap();
                assert_pattern(&read(&*device, 8192, sector), 6, &path);
                let end = one(&*device, Op::Read, (1 << 20) - 4096, Buffer::new(8192).unwrap());
                assert_eq!(end.result, Ok(4096));
            }
        });
        assert!(Command::new("losetup").args(["--detach", &path]).status().unwrap().success());
        outcome.unwrap();
    }
}

#[test]
fn threads_serve_128_reads_at_once() {
    let directory = directory();
    let device = open(directory.path().join("file"), BackendChoice::Threads, true).unwrap();
    write_pattern(&*device, 1, 0, BLOCK);
    let mut queue = device.queue(&QueueConfig::with_depth(128)).unwrap();
    for tag in 0..128 {
        queue.push(request(tag, Op::Read, 0, BLOCK, Buffer::new(BLOCK).unwrap()));
    }
    queue.submit().unwrap();
    let is_worker = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "cenote-io\n")
    };
    let count = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks.filter(|task| task.as_ref().is_ok_and(is_worker)).count()
    };
    // A thread takes its name only when it first runs.
    let mut workers = count();
    for _ in 0..1000 {
        if workers >= 128 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        workers = count();
    }
    assert!(workers >= 128, "{workers} workers");
    assert_eq!(drain(queue.as_mut()).len(), 128);
}

#[test]
fn short_reads_in_the_middle_of_a_file_are_resumed() {
    // The kernel gives this file a page at a time, and refuses to open it for direct I/O.
    const PATH: &str = "/proc/kallsyms";
    let expected = std::fs::read(PATH).unwrap_or_default();
    if expected.len() < 1 << 17 {
        println!("skipped: {PATH} is short here");
        return;
    }
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let options = OpenOptions::reading().backend(backend);
        let device = file::open(PATH.as_ref(), &options).unwrap();
        assert_eq!(device.block_bytes(), 1);
        let name = device.backend();
        let mut queue = device.queue(&QueueConfig::with_depth(4)).unwrap();
        for tag in 0..4 {
            let buffer = Buffer::new(1 << 15).unwrap();
            queue.push(request(tag, Op::Read, tag << 15, 1 << 15, buffer));
        }
        for read in drain(queue.as_mut()) {
            assert_eq!(read.result, Ok(1 << 15), "{name}");
            let at = read.offset as usize;
            assert!(read.buffer[..] == expected[at..at + (1 << 15)], "{name}: offset {at}");
        }
    }
}
