//! What `run --out` and `--sources` do with paths that are no plain files.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("edges.txt"), "0 1\n1 2\n2 3\n").unwrap();
    bench.succeed("import edges.txt --out g.cenote");
    bench
}

#[test]
fn streams_are_written_to_and_stay_what_they_are() {
    let bench = bench();
    bench.succeed("run bfs g.cenote --source 0 --out /dev/null");
    assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
    let printed = bench.succeed("run bfs g.cenote --source 0 --out /dev/stdout");
    assert!(printed.starts_with("vertex,level\n0,0\n1,1\n"), "{printed}");
}

#[test]
fn a_link_to_standard_output_is_not_replaced_where_that_is_a_file() {
    let bench = bench();
    let link = bench.path("stdout");
    std::os::unix::fs::symlink("/proc/self/fd/1", &link).unwrap();
    let run = |line: &str| {
        let file = fs::File::create(bench.path("printed")).unwrap();
        let output = bench.command(line).stdout(file).output().unwrap();
        (output.status.code(), fs::read_to_string(bench.path("printed")).unwrap())
    };
    let (status, printed) = run("run bfs g.cenote --source 0 --out stdout");
    assert_eq!(status, Some(0), "{printed}");
    let rows = "vertex,level\n0,0\n1,1\n2,2\n3,3\n";
    assert!(printed.starts_with(rows) && printed.contains("reached"), "{printed}");
    for line in ["import edges.txt", "compact g.cenote"] {
        let (status, printed) = run(&format!("{line} --overwrite --out stdout"));
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{line}");
    }
    assert!(link.is_symlink());
}

#[test]
fn a_file_of_sources_is_not_replaced_by_the_answer() {
    let bench = bench();
    fs::write(bench.path("f.csv"), "0\n").unwrap();
    for out in ["f.csv", "./f.csv", "g.cenote"] {
        let message = bench.fail_quietly(&format!("run bfs g.cenote --sources f.csv --out {out}"));
        assert!(message.contains(out.trim_start_matches("./")), "{message}");
    }
    assert_eq!(fs::read(bench.path("f.csv")).unwrap(), b"0\n");
    bench.succeed("check g.cenote");
}

#[test]
fn a_subgraph_or_a_plot_does_not_replace_what_it_is_made_from() {
    let bench = bench();
    fs::write(bench.path("starts.txt"), "0\n").unwrap();
    fs::write(bench.path("trace.svg"), "R 1\nW 2\n").unwrap();
    for (line, input, kept) in [
        (
            "subgraph g.cenote --sources starts.txt --out ./starts.txt --overwrite",
            "starts.txt",
            "0",
        ),
        ("tier replay trace.svg --format text --policy all --plot trace.svg", "trace.svg", "R 1"),
        (
            "pool replay trace.svg --format text --device sim:p4510 --plot trace.svg",
            "trace.svg",
            "R",
        ),
    ] {
        let message = bench.fail_quietly(line);
        assert!(message.contains(input) && message.contains("an input too"), "{line}: {message}");
        assert!(fs::read_to_string(bench.path(input)).unwrap().starts_with(kept), "{line}");
    }
}

#[test]
fn generated_edges_go_to_streams_and_replace_only_files() {
    let bench = bench();
    let link = bench.path("null.u32");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    bench.succeed("generate kron --scale 4 --out null.u32");
    assert!(link.is_symlink());
    assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
    bench.succeed("generate kron --scale 4 --out plain.u32");
    let pipe = bench.path("pipe.u32");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    bench.succeed("generate kron --scale 4 --out pipe.u32");
    assert_eq!(reader.join().unwrap(), fs::read(bench.path("plain.u32")).unwrap());
    assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
}

#[test]
fn empty_and_endless_files_of_ids_are_refused() {
    let bench = bench();
    fs::write(bench.path("empty"), "").unwrap();
    for flags in ["--sources empty", "--targets empty"] {
        let message = bench.fail_quietly(&format!("run bfs g.cenote {flags}"));
        assert!(message.contains("empty: it has no id"), "{message}");
    }
    let message = bench.fail_quietly("run bfs g.cenote --sources /dev/zero --memory 64MiB");
    assert!(message.contains("too long for an id"), "{message}");
}

#[test]
fn errors_name_flags() {
    let bench = bench();
    let message = bench.fail_quietly("run pagerank g.cenote --memory 1");
    assert!(message.contains("give at least --memory "), "{message}");
    let message = bench.fail_quietly("run pagerank g.cenote --damping 2");
    assert!(message.contains("--damping is 2"), "{message}");
    let message = bench.fail_quietly("run reach g.cenote --target 3 --out a.csv");
    assert!(message.contains("--out"), "{message}");
}
