//! Broken files give an error that names the place, never a panic or an endless load.

use cenote_workload::WorkloadError;
use cenote_workload::page::trace::{Trace, TraceFormat};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{broken, file, read, record};

/// Asserts that a file is refused with a message of one line that names all of `parts`.
fn refused(name: &str, bytes: impl AsRef<[u8]>, parts: &[&str]) {
    let message = broken(name, None, bytes).to_string();
    assert!(!message.contains('\n'), "{message:?} has more than a line");
    for part in [name].iter().chain(parts) {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn broken_lines_are_named() {
    refused("a.txt", "R 1\n\n# x\nX 2\n", &["line 4", "\"X 2\"", "'R' or 'W'"]);
    refused("a.txt", "R 1\nR\n", &["line 2", "\"R\""]);
    refused("a.txt", "R 1\nR -1\n", &["line 2", "\"R -1\"", "from 0"]);
    refused("a.txt", "R 1\nR 18446744073709551615\n", &["line 2", "2^64 - 2"]);
    refused("a.txt", "R 1\nR 99999999999999999999\n", &["line 2"]);
    refused("a.txt", "R 1 2\n", &["line 1"]);
    refused("a.txt", "R 1\nR 0x10\n", &["line 2"]);
    refused("a.trace", "1\n2\nR 3\n", &["line 3", "page number"]);
    refused("a.trace", "1\n-2\n", &["line 2"]);
    refused("a.lis", "1 2 0 0\n1 2 0\n", &["line 2", "start, count"]);
    refused("a.lis", "1 0 0 0\n", &["line 1", "count (1 to"]);
    refused("a.lis", "1 99999999999 0 0\n", &["line 1"]);
    refused("a.lis", "18446744073709551615 1 0 0\n", &["line 1"]);
    refused("a.lis", "1 1 0 0 0\n", &["line 1"]);
}

#[test]
fn broken_csv_is_named() {
    refused("a.csv", "time,size\n1,2\n", &["line 1", "a header that names page, offset or lbn"]);
    refused("a.csv", "page,op\n1,R\n1\n", &["line 3", "2 columns instead of 1"]);
    refused("a.csv", "page,op\n1,trim\n", &["line 2", "read or write in column 2"]);
    refused("a.csv", "page,op\n-1,R\n", &["line 2", "column 1"]);
    refused("a.csv", "offset,size\n0,1e3\n", &["line 2", "bytes in column 2"]);
    refused("a.csv", "offset,size\n0,4294967297\n", &["line 2", "at most 4294967296 bytes"]);
    refused("a.csv", "offset,size\n18446744073709551615,2\n", &["line 2", "below 2^64"]);
    refused("a.csv", "lbn\n36028797018963968\n", &["line 2", "below 2^64"]);
    refused("a.csv", "page,size\n18446744073709551615,0\n", &["line 2", "below 2^64"]);
    let msr = "1,hm,1,Read,0,1,1\n2,hm,0,Read,0,1,1\n";
    refused("a.csv", msr, &["line 2", "disk hm.1", "split the file"]);
}

#[test]
fn a_cut_record_is_named() {
    let whole = [record(1, 2, 3, 4), record(5, 6, 7, 8)].concat();
    for cut in 1..24 {
        let bytes = &whole[..24 + cut];
        refused("a.oracleGeneral", bytes, &["record 2", &format!("{cut} bytes at the end")]);
    }
    refused("a.oracleGeneral", record(1, u64::MAX, 1, -1), &["record 1", "2^64 - 2"]);
    for next in [-3, i64::MIN, 1 << 48, i64::MAX - 1] {
        refused("a.oracleGeneral", record(1, 2, 3, next), &["record 1", "oracleGeneral file?"]);
    }
}

#[test]
fn text_that_is_none_is_named() {
    refused("a.txt", b"R 1\nR \xff\n", &["line 2", "not UTF-8"]);
    refused("a.csv", [0xffu8; 200_000], &["line 1", "65536 bytes or more"]);
    refused("a.trace", "1".repeat(1 << 16), &["line 1", "65536 bytes or more"]);
    refused("a.csv", b"page\n\0\0\0\n", &["line 2"]);
}

#[test]
fn a_cut_package_is_an_error_not_a_short_load() {
    let text = (0..50_000).map(|page| format!("R {}\n", page * 7919 % 50_021)).collect::<String>();
    let zst = zstd::encode_all(text.as_bytes(), 3).expect("packed");
    refused("a.txt.zst", &zst[..zst.len() - 9], &["cannot read", "after line or record"]);
    refused("a.txt.zst", &text[..100], &["cannot read"]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("packed");
    let gz = encoder.finish().expect("packed");
    refused("a.txt.gz", &gz[..gz.len() / 2], &["cannot read"]);
    refused("a.txt.gz", &text[..100], &["cannot read"]);
}

#[test]
fn an_unknown_format_names_the_choices() {
    for (name, bytes) in [("a.dat", "R 1\n"), ("a", ""), ("a.zst", ""), ("a.txt", "1 2 3 4\n")] {
        let error = broken(name, None, bytes);
        assert!(matches!(error, WorkloadError::Format { .. }), "{error:?}");
        let message = error.to_string();
        for format in TraceFormat::ALL {
            assert!(message.contains(format.name()), "{message}");
        }
    }
}

#[test]
fn a_missing_file_or_page_size_is_an_error() {
    let error = Trace::open("/nonexistent/a.txt".as_ref(), None, 4096).expect_err("missing");
    assert!(error.to_string().contains("/nonexistent/a.txt"), "{error}");
    let (_directory, path) = file("a.txt", "R 1\n");
    let error = Trace::open(&path, None, 0).expect_err("no page size");
    assert!(error.to_string().starts_with("page-bytes"), "{error}");
    assert!(Trace::open(path.parent().expect("a parent"), Some(TraceFormat::Text), 512).is_err());
}

#[test]
fn a_load_ends_at_its_first_error() {
    let (_directory, path) = file("a.txt", "R 1\nnonsense\nR 2\n");
    let mut trace = Trace::open(&path, None, 4096).expect("the first line is fine");
    assert!(trace.next().expect("a line").is_ok());
    assert!(trace.next().expect("an error").is_err());
    assert!(trace.next().is_none());
}

/// Reads bytes in every format; at most `most` accesses of each, since a valid line may ask for a
/// million pages.
fn try_all(bytes: &[u8], most: usize) {
    let (_directory, path) = file("a.bin", bytes);
    for format in TraceFormat::ALL {
        for page_bytes in [1, 512, 4096, u64::MAX] {
            let Ok(trace) = Trace::open(&path, Some(format), page_bytes) else { continue };
            trace.take(most).filter_map(Result::err).for_each(|error| {
                assert!(!error.to_string().contains('\n'), "{error:?}");
            });
        }
    }
}

/// Lines of words that the formats know, numbers and separators.
const PLAUSIBLE: &str =
    "((R|W|r|page|offset|lbn|op|size|2a|[*]|#|-?[0-9]{1,21}|,|,| |\t|\"|\u{feff})*\r?\n){0,8}";

fn try_plausible_texts(cases: u32) {
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(cases) };
    let tried = TestRunner::new(config).run(&PLAUSIBLE, |text| {
        try_all(text.as_bytes(), 1_000);
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_plausible_text_ends_in_accesses_or_an_error() {
    try_plausible_texts(70);
}

#[test]
#[ignore = "long: make soak"]
fn longer_any_plausible_text_ends_in_accesses_or_an_error() {
    try_plausible_texts(200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_end_in_accesses_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_all(&bytes, 1_000);
    }

    #[test]
    fn a_flipped_bit_never_panics(place in any::<prop::sample::Index>(), bit in 0..8u32) {
        let csv = "version,time,op,size,lbn\n1,5,2a,512,16\n1,5,28,8192,23\n";
        for valid in [
            b"R 5\nW 7\n# x\nr 12345\n".to_vec(),
            csv.into(),
            b"16 3 0 0\n7 2 9 1\n".to_vec(),
            [record(1, 77, 512, 1), record(2, 77, 512, -1)].concat(),
        ] {
            let mut bytes = valid;
            let at = place.index(bytes.len());
            bytes[at] ^= 1 << bit;
            try_all(&bytes, 1_000);
        }
    }

    #[test]
    fn a_flipped_bit_in_a_packed_file_never_panics(
        place in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut packed = zstd::encode_all(&b"R 5\nW 7\nR 12345\n"[..], 3).expect("packed");
        let at = place.index(packed.len());
        packed[at] ^= 1 << bit;
        let _ = read("a.txt.zst", None, &packed);
    }
}
