//! Numbers out of range, and systems that refuse threads, disk space or a home directory.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::{Bench, assert_one_line, text};

/// Values that no option should take without a word; some take them.
const NUMBERS: [&str; 6] = ["0", "-1", "18446744073709551615", "NaN", "inf", "1e308"];

/// Command lines that do little, one for each verb and kind with numbers. Options of a line are
/// those that the verb requires.
const LINES: &[&str] = &[
    "generate kron --scale=4 --out=g.u32",
    "generate uniform --vertices=10 --edges=9 --out=g.u32",
    "generate ba --vertices=10 --out=g.u32",
    "generate grid --rows=3 --cols=3 --out=g.u32",
    "generate smallworld --vertices=30 --out=g.u32",
    "import small.u32 --undirected --overwrite --out=new.cenote",
    "import small.u32 --undirected --overwrite --out=tiered.cenote --tier=a=.:64KiB --tier=b=.",
    "run bfs g.cenote --source=0",
    "run betweenness g.cenote --samples=2",
    "run cdlp g.cenote",
    "run degrees g.cenote",
    "run dfs g.cenote --source=0",
    "run hyperball g.cenote",
    "run kcore g.cenote",
    "run leiden g.cenote",
    "run louvain weighted.cenote",
    "run mis g.cenote",
    "run msf weighted.cenote",
    "run pagerank g.cenote",
    "run ppr g.cenote",
    "run similar g.cenote",
    "run sssp weighted.cenote --source=0",
    "run walk g.cenote --walkers=2 --steps=3",
    "run triangles g.cenote",
    "estimate bfs g.cenote --source=0",
    "neighbors g.cenote 0",
    "check g.cenote",
    "export g.cenote --out=e.txt",
    "compact g.cenote --order=random --overwrite --out=c.cenote",
    "subgraph g.cenote --source=0 --overwrite --out=s.cenote",
    "shard g.cenote --shards=2 --out=shards",
    "pool replay --workload=ms --device=sim:ideal --pages=100 --ops=200 --policy=lru",
    "pool replay --workload=zipf --device=sim:ideal --pages=100 --ops=200 --policy=lru",
    "pool replay --workload=tpcc --device=sim:ideal --pages=100 --ops=200 --policy=lru",
    "tier replay --workload=5hf90 --pages=100 --ops=200 --policy=tlru",
    "tier replay --workload=zipf --pages=100 --ops=200 --policy=tlru",
];

/// Work that grows with the number without a bound: a great number is a great amount of work.
const UNBOUNDED: &[&str] =
    &["--edges", "--walkers", "--per-vertex", "--steps", "--iterations", "--ops"];

/// The options of a verb that take a value.
fn options(help: &str) -> Vec<&str> {
    let named = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let (name, value) = line.split_once(' ')?;
        let takes_a_value = line.starts_with("--") && value.starts_with('<');
        takes_a_value.then_some(name)
    });
    named.collect()
}

fn graphs() -> Bench {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 6 --out small.u32");
    bench.succeed("import small.u32 --undirected --out g.cenote");
    std::fs::write(bench.path("weights.txt"), "0 1 2.5\n1 2 1\n2 0 3\n").unwrap();
    bench.succeed("import weights.txt --undirected --weights f32 --out weighted.cenote");
    bench
}

/// What is wrong with a run that did not end by itself in time, or with a panic, or whose error is
/// not one line of some length.
fn fault(line: &str, output: &Output) -> Option<String> {
    let message = text(&output.stderr);
    let errors: Vec<&str> = message.lines().filter(|line| !line.contains("warning: ")).collect();
    // A number is shown as it was given, not with hundreds of digits.
    let is_short = |error: &str| error.split_whitespace().all(|word| word.len() < 200);
    let is_one = |errors: &[&str]| {
        errors.len() == 1
            && errors[0].starts_with("cenote: ")
            && errors[0].len() < 400
            && is_short(errors[0])
    };
    let is_well = match output.status.code() {
        Some(0 | 1) => true,
        Some(2) => is_one(&errors),
        _ => false,
    };
    let message: String = message.chars().take(400).collect();
    (!is_well).then(|| format!("cenote {line}: {}: {message}", output.status))
}

fn expect_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The run with its variables, ended after 20 seconds.
fn within_20_seconds(command: &Command, folder: &Path) -> Output {
    let mut limited = Command::new("timeout");
    limited.arg("20").arg(command.get_program()).args(command.get_args()).current_dir(folder);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.output().unwrap()
}

/// Tries one number in so many with every option of one line, others with the next option; how many
/// there were, and their faults. What all algorithms share is one piece of code: it is tried with
/// `run bfs`.
fn try_numbers(bench: &Bench, line: &str, one_in: usize) -> (usize, Vec<String>) {
    let verb: Vec<&str> = line.split(' ').take_while(|word| !word.contains(['.', '='])).collect();
    let verb = verb.join(" ").replace(" 0", "");
    let help_of = |verb: &str| text(&bench.run(&format!("{verb} --help")).stdout);
    let (help, of_bfs) = (help_of(&verb), help_of("run bfs"));
    let shared = if line.starts_with("run ") && verb != "run bfs" { &*of_bfs } else { "" };
    let shared = options(shared);
    let (mut tried, mut faults) = (0, Vec::new());
    let options = options(&help).into_iter().filter(|option| !shared.contains(option));
    for (at, option) in options.enumerate() {
        let rest: Vec<&str> = line
            .split(' ')
            .filter(|word| word.split('=').next() != Some(option) || option == "--tier")
            .collect();
        for number in NUMBERS.into_iter().skip(at % one_in).step_by(one_in) {
            let is_great = number.len() > 5;
            if ["--out", "--plot", "--create", "--device"].contains(&option)
                || is_great && UNBOUNDED.contains(&option)
            {
                continue;
            }
            let line = format!("{} {option}={number}", rest.join(" "));
            let output = within_20_seconds(&bench.command(&line), bench.folder.path());
            faults.extend(fault(&line, &output));
            tried += 1;
        }
    }
    (tried, faults)
}

#[test]
fn numbers_on_the_command_line_are_taken_or_refused_in_one_line() {
    try_lines(12, 40);
}

#[test]
#[ignore = "long: make soak"]
fn longer_every_number_on_the_command_line_is_taken_or_refused_in_one_line() {
    try_lines(1, 500);
}

/// Tries one number in so many with each option of all lines; more than so many in all.
fn try_lines(one_in: usize, least: usize) {
    let benches = [graphs(), graphs()];
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers = [0, 1].map(|worker| {
            let bench = &benches[worker];
            let own = LINES.iter().skip(worker).step_by(2);
            scope
                .spawn(move || own.map(|line| try_numbers(bench, line, one_in)).collect::<Vec<_>>())
        });
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let tried: usize = results.iter().map(|(tried, _)| tried).sum();
    assert!(tried > least, "only {tried} tried");
    expect_none(&results.into_iter().flat_map(|(_, faults)| faults).collect::<Vec<_>>());
}

/// A run as a user that may have so many processes and threads.
fn with_threads_limited(bench: &Bench, line: &str, threads: u32) -> Output {
    // Root has no such limit; a user of our own has no other processes that count.
    let is_root = text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() == "0";
    let user: &[&str] = if is_root { &["setpriv", "--reuid=61234", "--clear-groups"] } else { &[] };
    let mut command = Command::new("timeout");
    command.arg("20").args(user).arg("prlimit").arg(format!("--nproc={threads}:{threads}"));
    command.arg(bench.path("cenote")).args(line.split(' '));
    command.current_dir(bench.folder.path()).env("HOME", bench.folder.path()).output().unwrap()
}

#[test]
fn a_system_that_refuses_threads_is_reported() {
    let bench = graphs();
    let own = bench.path("cenote");
    let program = env!("CARGO_BIN_EXE_cenote");
    if std::fs::hard_link(program, &own).is_err() {
        std::fs::copy(program, &own).unwrap();
    }
    for entry in std::fs::read_dir(bench.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path != own {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        }
    }
    let everyone = PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(bench.folder.path(), everyone).unwrap();
    let mut faults = Vec::new();
    for threads in 1..=7 {
        for line in [
            "generate kron --scale 8 --threads 4 --out k.u32",
            "generate kron --scale 8 --threads 4 --out k.parquet",
            "import small.u32 --undirected --threads 4 --overwrite --out k.cenote",
            "import weights.txt --undirected --ids string --threads 4 --overwrite --out k.cenote",
            "run bfs g.cenote --source 0 --threads 4",
            "neighbors g.cenote 0 1 2 3 --threads 4",
            "check g.cenote",
            "export g.cenote --out k.txt",
            "pool replay --workload ms --ops 500 --device small.u32 --pages 1 --overwrite \
             --frames 4 --threads 4",
        ] {
            let output = with_threads_limited(&bench, line, threads);
            faults.extend(fault(&format!("{line} with {threads} threads"), &output));
            if threads == 2 && line.contains("--threads 4") {
                assert_eq!(output.status.code(), Some(2), "{line}: {}", text(&output.stderr));
            }
        }
    }
    expect_none(&faults);
}

#[test]
fn more_threads_than_the_cap_are_refused_before_anything_is_done() {
    let bench = graphs();
    for line in [
        "run bfs g.cenote --source 0 --threads 513",
        "import small.u32 --undirected --out new.cenote --threads 10000",
        "generate kron --scale 4 --out new.u32 --threads 100000",
    ] {
        assert!(bench.fail(line).contains("expected 1 to 512"), "{line}");
    }
    assert!(!bench.names().iter().any(|name| name.contains("new")), "{:?}", bench.names());
    bench.succeed("run bfs g.cenote --source 0 --threads 512");
}

#[test]
fn a_profile_that_cannot_be_kept_or_does_not_fit_is_refused_before_it_is_measured() {
    let bench = Bench::new();
    let fail = |line: &str, variables: &[(&str, &str)]| {
        let mut command = bench.command(line);
        command.env_remove("XDG_STATE_HOME").env_remove("HOME").envs(variables.iter().copied());
        let output = within_20_seconds(&command, bench.folder.path());
        assert_eq!(output.status.code(), Some(2), "{line}: {}", text(&output.stderr));
        assert_one_line(&text(&output.stderr));
        text(&output.stderr)
    };
    assert!(fail("profile .", &[]).contains("set HOME or XDG_STATE_HOME"));
    assert!(fail("profile .", &[("HOME", "/proc")]).contains("/proc/.local/state"));
    let home = bench.folder.path().to_str().unwrap();
    let message = fail("profile . --scratch 1000TiB", &[("HOME", home)]);
    assert!(message.contains("more than half of"), "{message}");
}

#[test]
fn without_a_home_a_graph_is_read_with_an_assumed_profile() {
    let bench = graphs();
    for home in [None, Some("/dev/null"), Some("/proc")] {
        for line in ["info g.cenote", "check g.cenote", "run bfs g.cenote --source 0"] {
            let mut command = bench.command(line);
            command.env_remove("XDG_STATE_HOME").env_remove("HOME");
            command.envs(home.map(|home| ("HOME", home)));
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stderr));
        }
    }
}
