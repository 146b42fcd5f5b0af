//! `cenote pool replay`.

use std::io::Write;

use serde_json::Value;

use crate::{Bench, parse, text};

/// A tenth of the paper's setting.
const TENTH: &str = "--pages 34406 --frames 2000 --ops 200000";

/// Small enough for a drive of any kind.
const SMALL: &str = "--pages 512 --frames 32 --ops 3000";

fn rows(bench: &Bench, args: &str) -> Vec<Value> {
    let report = parse(&bench.succeed(&format!("pool replay {args} --json")));
    report["rows"].as_array().unwrap().clone()
}

/// The row of a writer.
fn of<'a>(rows: &'a [Value], writer: &str) -> &'a Value {
    rows.iter().find(|row| row["writer"] == writer).unwrap()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
}

#[test]
fn rows_have_the_fields_that_scripts_read() {
    let bench = Bench::new();
    let args = format!("pool replay --workload ms --policy lru --device sim:p4510 {SMALL} --json");
    let report = parse(&bench.succeed(&args));
    assert_eq!(report["device"], "sim:p4510");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "a row for each writer");
    for row in rows {
        for name in ["workload", "policy", "writer", "prefetch", "device"] {
            assert!(row[name].is_string(), "{name} of {row}");
        }
        for name in ["hits", "misses", "logical_writes", "write_batches", "frames", "ops", "n_w"] {
            assert!(row[name].is_u64(), "{name} of {row}");
        }
        for name in ["seconds", "physical_writes", "speedup", "pio_speedup", "curve_speedup"] {
            assert!(row[name].is_f64(), "{name} of {row}");
        }
        assert_eq!(number(row, "hits") + number(row, "misses"), 3000.0);
        assert_eq!(number(row, "logical_writes"), number(row, "physical_writes"));
    }
    assert_eq!(number(of(rows, "classical"), "speedup"), 1.0);
    assert_eq!(number(of(rows, "classical"), "pio_speedup"), 1.0);
    assert_eq!(of(rows, "ace")["n_w"], 8, "k_w of the preset");
}

#[test]
fn every_combination_is_a_line_of_the_table() {
    let bench = Bench::new();
    let table = bench.succeed(&format!(
        "pool replay --workload ms,wis,ris,mu,zipf,tpcc --policy all --writer all --prefetch all \
         --device sim:optane-p4800x {SMALL}"
    ));
    let lines = table.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(lines, 1 + 6 * 6 * 4 * 4, "{table}");
    for word in ["MS", "TPC-C", "lru-wsr", "sieve", "ace", "history", "speedup", "PIO"] {
        assert!(table.contains(word), "{word} is missing");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let bench = Bench::new();
    let printed = |seed: u32| {
        bench.succeed(&format!(
            "pool replay --workload ms,zipf --policy all --prefetch both --device sim:p4510 \
             {SMALL} --seed {seed} --json"
        ))
    };
    let first = printed(3);
    assert_eq!(first, printed(3));
    assert_ne!(first, printed(4));
}

#[test]
fn the_published_costs_of_ace_are_met_on_an_ideal_device() {
    let bench = Bench::new();
    for (k, published) in [(2, 0.720), (4, 0.463), (8, 0.274)] {
        let rows = rows(
            &bench,
            &format!("--workload ms --policy lru --device sim:ideal --alpha {k} --k {k} {TENTH}"),
        );
        let (classical, ace) = (of(&rows, "classical"), of(&rows, "ace"));
        let cost = number(ace, "cost") / number(classical, "cost");
        assert!((cost / published - 1.0).abs() < 0.02, "k {k}: {cost}, published {published}");
        let seconds = number(ace, "seconds") / number(classical, "seconds");
        assert!((seconds / cost - 1.0).abs() < 0.005, "k {k}: {seconds} s for a cost of {cost}");
        assert_eq!(ace["misses"], classical["misses"]);
        assert!(number(ace, "extra_writes") <= 0.0025, "{ace}");
    }
}

#[test]
fn a_load_of_reads_alone_gains_nothing() {
    let bench = Bench::new();
    let args = format!("--workload ms --policy all --read-share 100% --device sim:p4510 {SMALL}");
    for row in rows(&bench, &args) {
        assert_eq!(number(&row, "speedup"), 1.0, "{row}");
        assert_eq!(number(&row, "pio_speedup"), 1.0, "{row}");
        assert_eq!(row["logical_writes"], 0, "{row}");
    }
}

#[test]
fn a_sweep_gives_rows_for_every_value_and_peaks_at_the_concurrency() {
    let bench = Bench::new();
    let rows = rows(
        &bench,
        "--workload ms --policy lru --writer ace --device sim:ideal --alpha 4 --k 8 \
         --pages 4000 --frames 240 --ops 30000 --sweep n-w=1,4,8,9,12",
    );
    let speedups: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row["writer"] == "ace")
        .map(|row| (number(&row["sweep"], "value"), number(row, "speedup")))
        .collect();
    assert_eq!(rows[0]["sweep"]["name"], "n-w");
    assert_eq!(speedups.len(), 5);
    let best = speedups.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert_eq!(best.0, 8.0, "{speedups:?}");
    assert!((speedups[0].1 - 1.0).abs() < 1e-9, "{speedups:?}");
}

#[test]
fn reads_shares_and_pool_sizes_can_be_varied() {
    let bench = Bench::new();
    let device = "--workload ms --policy lru --device sim:p4510";
    let shares = rows(&bench, &format!("{device} {SMALL} --sweep read-share=0,50,100"));
    let writes = |row: &&Value| row["writer"] == "ace" && row["sweep"]["value"] == 100.0;
    assert_eq!(shares.iter().find(writes).unwrap()["logical_writes"], 0);
    assert!(shares.iter().all(|row| row["workload"] == "MS"));
    let pools = rows(&bench, &format!("{device} --pages 512 --ops 3000 --sweep pool=5%,50%"));
    assert_eq!((pools[0]["frames"].as_u64(), pools[5]["frames"].as_u64()), (Some(25), Some(256)));
}

#[test]
fn plots_are_drawn_for_bars_and_for_lines() {
    let bench = Bench::new();
    let args = format!("pool replay --workload ms,mu --device sim:p4510 {SMALL} --plot");
    bench.succeed(&format!("{args} bars.svg"));
    bench.succeed(&format!("{args} lines.svg --sweep n-w=1,8"));
    for (name, words) in [("bars.svg", "MS lru-wsr"), ("lines.svg", "n-w")] {
        let svg = std::fs::read_to_string(bench.path(name)).unwrap();
        for expected in ["<svg", "Speedup on sim:p4510", "ace", words, "</svg>"] {
            assert!(svg.contains(expected), "{name}: {expected} is missing");
        }
    }
}

/// The same five accesses in each format; text and CSV know of writes.
fn write_traces(bench: &Bench) {
    let pages = [900_000u64, 7, 900_000, 8, 7];
    let write = |name: &str, text: String| std::fs::write(bench.path(name), text).unwrap();
    let lines = |line: &dyn Fn(u64) -> String| pages.map(line).concat();
    write("text.txt", "# five\nW 900000\nR 7\nR 900000\nW 8\nR 7\n".to_owned());
    write("numbers.trace", lines(&|page| format!("{page}\n")));
    write("arc.lis", lines(&|page| format!("{page} 1 0 0\n")));
    write("csv.csv", "op,page\n".to_owned() + &lines(&|page| format!("W,{page}\n")));
    let mut records = Vec::new();
    for page in pages {
        records.extend([0; 4]);
        records.extend(page.to_le_bytes());
        records.extend(4096u32.to_le_bytes());
        records.extend((-1i64).to_le_bytes());
    }
    std::fs::write(bench.path("records.oracleGeneral"), &records).unwrap();
    let packed = std::fs::File::create(bench.path("packed.txt.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::default());
    packed.write_all(b"R 900000\nR 7\nR 900000\nR 8\nR 7\n").unwrap();
    packed.finish().unwrap();
}

#[test]
fn traces_of_every_format_are_replayed() {
    let bench = Bench::new();
    write_traces(&bench);
    let names = [
        "text.txt",
        "numbers.trace",
        "arc.lis",
        "csv.csv",
        "records.oracleGeneral",
        "packed.txt.gz",
    ];
    for name in names {
        let args = format!("{name} --policy lru --frames 2 --device sim:p4510");
        let output = bench.run(&format!("pool replay {args} --json"));
        let message = text(&output.stderr);
        assert!(message.contains("3 pages are numbered by first access"), "{name}: {message}");
        assert_eq!(output.status.code(), Some(0), "{name}: {message}");
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        let row = &rows["rows"][0];
        assert_eq!((&row["workload"], &row["pages"]), (&name.into(), &3.into()), "{row}");
        // 900000, 7: missed; 900000: hit; 8: missed, 7 leaves; 7: missed.
        assert_eq!((&row["hits"], &row["misses"]), (&1.into(), &4.into()), "{row}");
    }
    let kept = rows(&bench, "text.txt --policy lru --frames 2 --keep-numbers --device sim:p4510");
    assert_eq!(kept[0]["pages"], 900_001);
}

#[test]
fn a_real_file_is_made_and_replayed_on() {
    let bench = Bench::new();
    let args = "--workload ms --policy lru,clock --frames 32 --ops 600 --device pages.bin";
    let first = rows(&bench, &format!("{args} --create 2MiB --repeats 3 --warm-up 100"));
    assert_eq!(first.len(), 2 * 4);
    assert_eq!(std::fs::metadata(bench.path("pages.bin")).unwrap().len(), 2 << 20);
    for row in &first {
        assert_eq!((&row["ops"], &row["repeats"]), (&500.into(), &3.into()));
        assert!(number(row, "seconds_min") <= number(row, "seconds"));
        assert!(number(row, "seconds") <= number(row, "seconds_max"));
        assert!(number(row, "read_us") > 0.0);
    }
    let again = rows(&bench, &format!("{args} --overwrite --threads 3"));
    assert!(again.iter().all(|row| row["ops"] == 600), "{again:?}");
}

#[test]
fn a_file_is_never_touched_without_permission() {
    let bench = Bench::new();
    let bytes: Vec<u8> = (0..2u32 << 20).map(|i| (i % 251) as u8).collect();
    std::fs::write(bench.path("precious"), &bytes).unwrap();
    let args = "pool replay --workload ms --frames 32 --ops 2000 --device precious";
    let message = bench.fail_quietly(args);
    assert!(message.contains("precious") && message.contains("--overwrite"), "{message}");
    let message = bench.fail_quietly(&format!("{args} --create 2MiB"));
    assert!(message.contains("precious exists"), "{message}");
    bench.succeed(&format!("{args} --read-share 1"));
    assert_eq!(std::fs::read(bench.path("precious")).unwrap(), bytes);
}

#[test]
fn what_cannot_be_replayed_is_refused_in_one_line() {
    let bench = Bench::new();
    std::fs::write(bench.path("small"), [0; 8192]).unwrap();
    std::fs::write(bench.path("bad.txt"), "R 1\nX 2\n").unwrap();
    std::fs::write(bench.path("far.txt"), "R 1\nR 99\n").unwrap();
    std::fs::write(bench.path("empty.txt"), "").unwrap();
    let sim = "--device sim:p4510";
    for (args, words) in [
        (String::from("--workload ms"), "--device"),
        (sim.to_owned(), "TRACE"),
        (format!("--workload dance {sim}"), "dance"),
        (format!("--workload ms --policy mru {sim}"), "mru"),
        (format!("--workload ms --writer none {sim}"), "'none'"),
        (String::from("--workload ms --device sim:floppy"), "sim:ideal"),
        (format!("--workload ms --alpha 3 {sim}"), "sim:p4510-ideal"),
        (format!("--workload ms --sweep alpha=1,2 {sim}"), "sim:p4510-ideal"),
        (format!("--workload ms --sweep beta=1 {sim}"), "beta"),
        (format!("--workload tpcc --sweep read-share=1 {sim}"), "read-share"),
        (format!("--workload ms --threads 2 {sim}"), "--threads"),
        (format!("--workload ms --overwrite {sim}"), "--overwrite"),
        (format!("--workload ms --pages 0 {sim}"), "--pages"),
        (format!("--workload ms --frames 0 {sim}"), "frames"),
        (format!("--workload ms --frames 1 {sim}"), "a background writer needs 2"),
        (format!("--workload ms --writer ace --frames 0 {sim}"), "0 frames; give it 1"),
        (format!("--workload ms --n-w 0 {sim} --ops 10"), "'--n-w <N>': expected 1 to 1024"),
        (format!("--workload ms --n-e 0 {sim}"), "'--n-e <N>': expected 1 to 1024"),
        (format!("--workload ms --cleaner-batch 0 {sim}"), "'--cleaner-batch <N>'"),
        (format!("--workload ms --n-w 9999 {sim} --ops 10"), "expected 1 to 1024"),
        (format!("--workload ms --page-bytes 1000 {sim} --ops 10"), "1000"),
        (format!("--workload ms --page-bytes 10% {sim}"), "--page-bytes"),
        (format!("--workload ms --read-share 2 {sim}"), "90%"),
        (format!("--workload ms --warm-up 10 --ops 10 {sim}"), "warm-up"),
        (format!("--workload zipf --skew nan {sim}"), "skew"),
        (format!("--workload ms --plot a.png {sim}"), ".svg"),
        (format!("none.txt {sim}"), "none.txt"),
        (format!("bad.txt {sim}"), "bad.txt, line 2"),
        (format!("empty.txt {sim}"), "no accesses"),
        (String::from("far.txt --keep-numbers --device small"), "needs 100 pages, and 2 fit"),
        (String::from("--workload ms --pages 9 --device x --create 32KiB"), "9 pages, and 8 fit"),
        (String::from("--workload ms --device nowhere"), "nowhere"),
        (String::from("--workload ms --device ."), "directory"),
        (String::from("--workload ms --device x --create 10%"), "--create"),
    ] {
        let message = bench.fail_quietly(&format!("pool replay {args}"));
        assert!(message.contains(words), "{args}: {message}");
    }
    assert_eq!(bench.names(), ["bad.txt", "empty.txt", "far.txt", "small"]);
}

#[test]
fn the_example_of_the_help_runs() {
    let bench = Bench::new();
    let help = bench.succeed("pool --help");
    let line = help.lines().find(|line| line.starts_with("  cenote pool ")).unwrap();
    let args = line.trim().strip_prefix("cenote ").unwrap();
    let table = bench.succeed(&format!("{args} --ops 20000"));
    assert!(table.contains("alpha 1.10, k_r 6, k_w 5"), "{table}");
}
