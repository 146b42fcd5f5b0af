//! Each format is read according to its definition.

use std::io::Write;

use cenote_workload::page::dense::Dense;
use cenote_workload::page::mix::{Mix, MixConfig};
use cenote_workload::page::trace::{Trace, TraceFormat, write_text};
use cenote_workload::page::{PageLoad, PageOp};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{file, read, reads, record, writes};

#[test]
fn text_is_read_with_comments_blank_lines_and_either_case() {
    let text = "# a trace\n\nR 5\nw 18446744073709551614\r\n  r\t7  \n#W 1\nW 0";
    let expected =
        [PageOp::read(5), PageOp::write(u64::MAX - 1), PageOp::read(7), PageOp::write(0)];
    assert_eq!(read("a.txt", None, text).expect("valid"), expected);
    assert_eq!(read("a.dat", Some(TraceFormat::Text), text).expect("valid"), expected);
    let marked = format!("\u{feff}{text}");
    assert_eq!(read("a.trace", None, marked).expect("a byte order mark"), expected);
}

#[test]
fn what_is_written_is_read_again_packed_or_not() {
    let load = || Mix::new(MixConfig::wis(1 << 40, 5_000, 3)).expect("valid");
    let mut text = Vec::new();
    assert_eq!(write_text(&mut text, load()).expect("written"), 5_000);
    let expected: Vec<PageOp> = load().map(|op| op.expect("no errors")).collect();
    assert_eq!(read("a.txt", None, &text).expect("valid"), expected);
    let packed = zstd::encode_all(text.as_slice(), 3).expect("packed");
    assert_eq!(read("a.txt.zst", None, packed).expect("valid"), expected);
    // Two members, as `cat a.gz b.gz` makes them.
    let mut packed = Vec::new();
    for half in [&text[..text.len() / 2], &text[text.len() / 2..]] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(half).expect("packed");
        packed.extend(encoder.finish().expect("packed"));
    }
    assert_eq!(read("a.trace.gz", None, packed).expect("valid"), expected);
}

#[test]
fn a_window_of_128_mib_is_unpacked() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(27).expect("allowed");
    encoder.write_all(b"R 1\nR 2\n").expect("packed");
    let packed = encoder.finish().expect("packed");
    assert_eq!(read("a.txt.zst", None, packed).expect("valid"), reads([1, 2]));
}

#[test]
fn numbers_are_distinguished_from_text_and_marks_are_no_accesses() {
    let text = "*\n12 \n7\n*\n12\n";
    assert_eq!(read("a.trace", None, text).expect("valid"), reads([12, 7, 12]));
    let (_directory, path) = file("a.trace", text);
    let trace = Trace::open(&path, None, 4096).expect("valid");
    assert_eq!(trace.format(), TraceFormat::Numbers);
    assert_eq!(trace.name(), "a.trace");
}

#[test]
fn arc_blocks_are_pages_or_gathered_on_request() {
    let text = "16 3 0 0\n7 2 9 1\n";
    assert_eq!(read("a.lis", None, text).expect("valid"), reads([16, 17, 18, 7, 8]));
    // 4 KiB are 8 blocks: 16..19 lie in page 2, blocks 7 and 8 in pages 0 and 1.
    let gathered = read("a.lis", Some(TraceFormat::ArcSectors), text).expect("valid");
    assert_eq!(gathered, reads([2, 0, 1]));
}

#[test]
fn oracle_general_objects_are_pages() {
    let bytes = [record(1, 77, 512, 1), record(2, 77, 512, -1), record(2, u64::MAX - 1, 0, -2)];
    let expected = reads([77, 77, u64::MAX - 1]);
    for name in ["a.oracleGeneral", "a.oracleGeneral.bin", "a.oraclegeneral.BIN"] {
        assert_eq!(read(name, None, bytes.concat()).expect("valid"), expected, "{name}");
    }
    let packed = zstd::encode_all(bytes.concat().as_slice(), 3).expect("packed");
    assert_eq!(read("a.oracleGeneral.zst", None, packed).expect("valid"), expected);
}

#[test]
fn csv_of_cloudphysics_is_in_sectors() {
    let csv = "version,time,op,size,lbn\n1,5,2a,512,16\n1,5,28,8192,23\n1,6,2A,0,8\n";
    let expected = [writes([2]), reads([2, 3, 4]), writes([1])].concat();
    assert_eq!(read("a.csv", None, csv).expect("valid"), expected);
}

#[test]
fn csv_of_msr_cambridge_needs_no_header() {
    let csv = "128166372003061629,hm,1,Read,8192,4096,41286\n\
               128166372016382155,hm,1,Write,8191,2,1\n";
    let expected = [reads([2]), writes([1, 2])].concat();
    assert_eq!(read("a.csv", None, csv).expect("valid"), expected);
}

#[test]
fn csv_headers_name_their_columns_in_any_order() {
    for (csv, expected) in [
        ("page\n3\n4\n", reads([3, 4])),
        ("RW, \"Page\"\nr, \"3\"\nW,4\n", [reads([3]), writes([4])].concat()),
        ("size,time,OFFSET,Type\n5000,1,4095,WRITE\n", writes([0, 1, 2])),
        ("lba,opcode\n80,88\n80,8a\n", [reads([10]), writes([10])].concat()),
        ("obj_id,size\n9,8193\n", reads([9, 10, 11])),
        ("page,size\n", vec![]),
    ] {
        assert_eq!(read("a.csv", None, csv).expect(csv), expected, "{csv}");
    }
}

#[test]
fn an_empty_file_is_a_load_of_no_accesses() {
    for name in ["a.txt", "a.trace", "a.csv", "a.lis", "a.oracleGeneral", "a.txt.gz", "a.csv.zst"] {
        let (_directory, path) = file(name, "");
        let mut trace = Trace::open(&path, None, 4096).expect(name);
        assert!(trace.next().is_none(), "{name}");
        assert_eq!((trace.ops(), trace.pages()), (Some(0), Some(0)), "{name}");
    }
    assert_eq!(read("a.txt", None, "# nothing\n\n").expect("valid"), []);
}

#[test]
fn a_trace_knows_its_size_at_the_end() {
    let (_directory, path) = file("a.lis", "8 2 0 0\n1 1 0 1\n");
    let mut trace = Trace::open(&path, None, 512).expect("valid");
    assert_eq!((trace.ops(), trace.pages(), trace.requests()), (None, None, 0));
    assert_eq!(trace.by_ref().count(), 3);
    assert_eq!((trace.ops(), trace.pages(), trace.requests()), (Some(3), Some(10), 2));
}

#[test]
fn dense_numbers_count_first_appearances() {
    let (_directory, path) = file("a.txt", "R 1000000007\nW 3\nR 1000000007\nW 99\n");
    let mut dense = Dense::new(Trace::open(&path, None, 4096).expect("valid"));
    assert_eq!(dense.pages(), None);
    let ops: Vec<PageOp> = dense.by_ref().map(|op| op.expect("valid")).collect();
    assert_eq!(ops, [reads([0]), writes([1]), reads([0]), writes([2])].concat());
    assert_eq!((dense.pages(), dense.ops(), dense.pages_seen()), (Some(3), Some(4), 3));
}

#[test]
fn format_names_are_read_back() {
    for format in TraceFormat::ALL {
        assert_eq!(format.name().parse::<TraceFormat>().expect("known"), format);
    }
    let message = "arcs".parse::<TraceFormat>().expect_err("unknown").to_string();
    assert!(message.contains("arc-sectors") && message.contains("oracle-general"), "{message}");
}
