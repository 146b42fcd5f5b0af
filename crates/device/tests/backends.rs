//! One suite over every backend: what a device promises, whoever moves the bytes.
use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_device::{Buffer, read_exact, write_all};

#[test]
fn what_was_written_is_read() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for backend in [BackendChoice::Uring, BackendChoice::Threads] {
        let options = OpenOptions { backend, ..OpenOptions::creating() };
        let device = file::open(&dir.path().join("x"), &options).unwrap();
        let mut buffer = Buffer::new(8192).unwrap();
        buffer.fill(7);
        write_all(&*device, 4096, 8192, buffer).unwrap();
        let buffer = read_exact(&*device, 8192, 4096, Buffer::new(8192).unwrap()).unwrap();
        assert!(buffer[..4096].iter().all(|&b| b == 7));
        println!("{device:?} {}", device.backend());
        println!("{}", read_exact(&*device, 8192, 8192, Buffer::new(8192).unwrap()).unwrap_err());
    }
}
