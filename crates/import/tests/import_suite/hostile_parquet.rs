//! Parquet files made by hand, whose few bytes would take much memory, or which lie.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use cenote_import::{ComponentsConfig, components};
use cenote_import::{Edges, FileWorkspace, Input, import, import_edges};
use cenote_import::{IdKind, ImportConfig, ImportError, ImportReport, InputSpec, NoProgress};
use parquet::basic::Encoding;
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::hostile::{child, folder_of_child};
use crate::oracle::file;
use crate::parquet::{Column, parquet};

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct in Thrift's compact protocol.
#[derive(Clone, Default)]
struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    fn field(mut self, id: u8, kind: u8) -> Self {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
        self
    }

    fn number(mut self, number: u64) -> Self {
        varint(number, &mut self.bytes);
        self
    }

    fn integer(self, id: u8, kind: u8, integer: u64) -> Self {
        self.field(id, kind).number(integer << 1)
    }

    fn text(self, id: u8, text: &str) -> Self {
        let mut this = self.field(id, BINARY).number(text.len() as u64);
        this.bytes.extend(text.as_bytes());
        this
    }

    fn list(self, id: u8, kind: u8, count: u64) -> Self {
        let mut this = self.field(id, LIST);
        this.bytes.push(0xf0 | kind);
        this.number(count)
    }

    fn structs(self, id: u8, all: &[Thrift]) -> Self {
        let this = self.list(id, STRUCT, all.len() as u64);
        all.iter().fold(this, |this, one| this.end_of(one))
    }

    fn inner(self, id: u8, one: &Thrift) -> Self {
        self.field(id, STRUCT).end_of(one)
    }

    fn end_of(mut self, one: &Thrift) -> Self {
        self.bytes.extend(&one.bytes);
        self.bytes.push(0);
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn with_tail(mut file: Vec<u8>, footer: &[u8], length: u32) -> Vec<u8> {
    file.extend(footer);
    file.extend(length.to_le_bytes());
    file.extend(b"PAR1");
    file
}

const PLAIN: u64 = 0;
const RLE: u64 = 3;
const DELTA_LENGTHS: u64 = 6;
const DELTA_TEXTS: u64 = 7;
const DICTIONARY: u64 = 8;

const REQUIRED: u64 = 0;
const OPTIONAL: u64 = 1;

fn page(kind: u64, encoding: u64, values: u64, body: &[u8]) -> Vec<u8> {
    let size = body.len() as u64;
    let header = Thrift::default().integer(1, I32, kind).integer(2, I32, size);
    let header = header.integer(3, I32, size);
    let inner = Thrift::default().integer(1, I32, values).integer(2, I32, encoding);
    let header = match kind {
        0 => header.inner(5, &inner.integer(3, I32, RLE).integer(4, I32, RLE)),
        _ => header.inner(7, &inner),
    };
    [header.end(), body.to_vec()].concat()
}

/// The start of the metadata of files with two columns of strings: version, schema, rows.
fn two_columns(rows: u64) -> Thrift {
    two_columns_with(rows, REQUIRED)
}

fn two_columns_with(rows: u64, repetition: u64) -> Thrift {
    let column = |name| {
        let kind = Thrift::default().integer(1, I32, 6).integer(3, I32, repetition);
        kind.text(4, name).integer(6, I32, 0)
    };
    let root = Thrift::default().text(4, "m").integer(5, I32, 2);
    let head = Thrift::default().integer(1, I32, 1);
    head.structs(2, &[root, column("a"), column("b")]).integer(3, I64, rows)
}

/// A file of two columns with these pages.
fn of_pages(rows: u64, pages: &[u8]) -> Vec<u8> {
    of_pages_with(rows, pages, REQUIRED)
}

fn of_pages_with(rows: u64, pages: &[u8], repetition: u64) -> Vec<u8> {
    let (size, mut file) = (pages.len() as u64, b"PAR1".to_vec());
    let columns: Vec<Thrift> = ["a", "b"]
        .map(|name| {
            let start = file.len() as u64;
            file.extend(pages);
            let mut known = Thrift::default().integer(1, I32, 6).list(2, I32, 1).number(14);
            known = known.list(3, BINARY, 1).number(1);
            known.bytes.extend(name.as_bytes());
            let known = known.integer(4, I32, 0).integer(5, I64, rows).integer(6, I64, size);
            let known = known.integer(7, I64, size).integer(9, I64, start);
            Thrift::default().integer(2, I64, start).inner(3, &known)
        })
        .into();
    let group = Thrift::default().structs(1, &columns).integer(2, I64, 2 * size);
    let columns = two_columns_with(rows, repetition);
    let footer = columns.structs(4, &[group.integer(3, I64, rows)]).end();
    let length = footer.len() as u32;
    with_tail(file, &footer, length)
}

/// Encodes `first`, then `others` times `other`, as differences.
fn delta(first: i64, other: i64, others: u64) -> Vec<u8> {
    let zigzag = |number: i64| (number << 1 ^ number >> 63) as u64;
    let mut bytes = Vec::new();
    [128, 4, 1 + others, zigzag(first)].into_iter().for_each(|n| varint(n, &mut bytes));
    for block in 0..others.div_ceil(128) {
        let step = other - first;
        if block > 0 || step == 0 {
            bytes.extend([0; 5]);
            continue;
        }
        // The others differ by 0 and the first one by `step`, all above the smallest of them.
        varint(zigzag(step.min(0)), &mut bytes);
        bytes.extend([32, 32, 32, 32]);
        let (one, more) = (step - step.min(0), -step.min(0));
        bytes.extend((one as u32).to_le_bytes());
        // Mini blocks of 32, without those that have no numbers.
        let numbers = others.min(128).next_multiple_of(32);
        (1..numbers).for_each(|_| bytes.extend((more as u32).to_le_bytes()));
    }
    bytes
}

/// A page of equal strings, each of which shares all with the one before.
fn equal_texts(count: u64, text_bytes: i64) -> Vec<u8> {
    let (shared, own) = (delta(0, text_bytes, count - 1), delta(text_bytes, 0, count - 1));
    [shared, own, vec![b'x'; text_bytes as usize]].concat()
}

fn run(spec: &InputSpec, memory_bytes: usize) -> Result<ImportReport, ImportError> {
    let config = ImportConfig::default().directed(true).ids(IdKind::String);
    let config = config.memory_bytes(memory_bytes).threads(2).keep_self_loops(true);
    let out = spec.path.with_extension("cenote");
    import(std::slice::from_ref(spec), &out, &config.overwrite(true), &NoProgress)
}

/// The refusal of a file for its memory: what would do, in bytes.
#[track_caller]
fn refusal(spec: &InputSpec, memory_bytes: usize) -> usize {
    let error = run(spec, memory_bytes).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with(&spec.name()) && message.contains("`memory`"), "{message}");
    assert!(!spec.path.with_extension("cenote").exists());
    let ImportError::Memory { needed, .. } = error else { panic!("{message}") };
    needed
}

#[track_caller]
fn broken(spec: &InputSpec) -> String {
    let error = run(spec, 64 << 20).unwrap_err();
    assert!(matches!(error, ImportError::Format { .. }), "{error}");
    error.to_string()
}

/// The largest memory of this process so far, in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// Runs `test` in a process of its own, whose peak is that of the test.
fn in_child(test: &str, folder: &Path) {
    let output = child(&format!("hostile_parquet::{test}"), folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_small_page_of_long_shared_strings_is_refused_before_it_is_decoded() {
    let folder = tempfile::tempdir().unwrap();
    // 3 GB in each column.
    let bytes = of_pages(50_000, &page(0, DELTA_TEXTS, 50_000, &equal_texts(50_000, 60_000)));
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    file(&folder, "a.parquet", &bytes);
    in_child("child_with_a_small_page", folder.path());
}

#[test]
#[ignore = "runs in a child process, whose peak it measures"]
fn child_with_a_small_page() {
    let before = peak();
    let needed = refusal(&InputSpec::new(folder_of_child().join("a.parquet")), 32 << 20);
    assert!(needed > 4096 * 60_000, "{needed}");
    let more = peak() - before;
    assert!(more < 40 << 20, "{more} bytes more");
}

#[test]
fn the_memory_that_is_named_decodes_shared_strings() {
    let folder = tempfile::tempdir().unwrap();
    let pages = [
        page(0, DELTA_TEXTS, 3000, &equal_texts(3000, 20_000)),
        page(0, DELTA_TEXTS, 2000, &equal_texts(2000, 10_000)),
    ];
    let spec = file(&folder, "a.parquet", &of_pages(5000, &pages.concat()));
    let needed = refusal(&spec, 24 << 20);
    assert!((120_000_000..600_000_000).contains(&needed), "{needed}");
    let report = run(&spec, needed).unwrap();
    assert_eq!((report.vertices, report.input_edges), (2, 5000));
    assert!(report.peak_memory_bytes <= needed as u64);
}

#[test]
fn a_footer_beyond_the_memory_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // A value of 300 MB that the file system need not store.
    let head = two_columns(0).list(4, STRUCT, 0).list(5, STRUCT, 1);
    let entry = Thrift::default().text(1, "k").field(2, BINARY).number(300 << 20);
    let start = [b"PAR1".to_vec(), head.bytes, entry.bytes].concat();
    let length = start.len() as u64 - 4 + (300 << 20) + 2;
    let mut out = fs::File::create(&path).unwrap();
    out.write_all(&start).unwrap();
    out.seek(SeekFrom::Start(length + 4)).unwrap();
    out.write_all(&with_tail(Vec::new(), &[], length as u32)).unwrap();
    // Zeros that are said to be metadata.
    let mut liar = fs::File::create(folder.path().join("b.parquet")).unwrap();
    liar.seek(SeekFrom::Start(400 << 20)).unwrap();
    liar.write_all(&with_tail(Vec::new(), &[], 399 << 20)).unwrap();
    // Three bytes an entry, which take 64 decoded.
    let mut head = two_columns(0).list(4, STRUCT, 0).list(5, STRUCT, 1 << 20);
    (0..1 << 20).for_each(|_| head.bytes.extend([0x18, 0, 0]));
    let footer = head.end();
    file(&folder, "c.parquet", &with_tail(b"PAR1".to_vec(), &footer, footer.len() as u32));
    in_child("child_with_a_footer", folder.path());
}

#[test]
#[ignore = "runs in a child process, whose peak it measures"]
fn child_with_a_footer() {
    let folder = folder_of_child();
    let before = peak();
    for (name, least) in [("a", 600 << 20), ("b", 399 << 20), ("c", 64 << 20)] {
        let spec = InputSpec::new(folder.join(name).with_extension("parquet"));
        let needed = refusal(&spec, 32 << 20);
        assert!(needed > least, "{name}: {needed}");
    }
    let more = peak() - before;
    assert!(more < 40 << 20, "{more} bytes more");
    // Enough memory shows what is wrong.
    let spec = InputSpec::new(folder.join("c.parquet"));
    let error = run(&spec, refusal(&spec, 32 << 20)).unwrap_err().to_string();
    assert!(error.contains("no edges"), "{error}");
}

#[test]
fn a_footer_that_lies_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let of_footer = |footer: &[u8], length: u32| {
        broken(&file(&folder, "a.parquet", &with_tail(b"PAR1".to_vec(), footer, length)))
    };
    let many = (1 << 31) - 1;
    let footer = two_columns(0).list(4, STRUCT, 0).end();
    of_footer(&footer, 1 << 30);
    of_footer(&footer, u32::MAX);
    of_footer(&footer, footer.len() as u32 - 1);
    let lies = |footer: Thrift| {
        let footer = footer.end();
        of_footer(&footer, footer.len() as u32)
    };
    let groups = lies(two_columns(0).list(4, STRUCT, many));
    assert!(groups.contains("a list in its metadata"), "{groups}");
    let root = |children| Thrift::default().text(4, "m").integer(5, I32, children);
    let schema = |all: &[Thrift]| {
        let head = Thrift::default().integer(1, I32, 1).structs(2, all);
        lies(head.integer(3, I64, 0).list(4, STRUCT, 0))
    };
    assert!(schema(&[root(many)]).contains("more columns than"));
    let nested: Vec<Thrift> = (0..100_000).map(|_| root(1)).collect();
    assert!(schema(&nested).contains("nested too deeply"));
}

#[test]
fn pages_that_lie_are_broken() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |rows, pages: &[u8]| broken(&file(&folder, "a.parquet", &of_pages(rows, pages)));
    let many = (1 << 31) - 1;
    // A dictionary of so many strings would take 80 GB.
    let dictionary = page(2, PLAIN, many, &[1, 0, 0, 0, b'x']);
    let places = page(0, DICTIONARY, 3, &[1, 6, 0]);
    assert!(refused(3, &[dictionary, places.clone()].concat()).contains("a dictionary"));
    assert!(refused(3, &places).contains("missing"));
    let texts = |shared: Vec<u8>, own: Vec<u8>, text: usize, count| {
        let body = [shared, own, vec![b'x'; text]].concat();
        refused(count, &page(0, DELTA_TEXTS, count, &body))
    };
    texts(delta(0, 6, 9), delta(5, 0, 9), 5, 10);
    texts(delta(0, -1, 9), delta(5, 0, 9), 5, 10);
    texts(delta(0, 5, 9), delta(5, 0, 8), 5, 10);
    texts(delta(0, 5, 8), delta(5, 0, 8), 5, 10);
    texts(delta(0, 5, 9), delta(5, 0, 9), 4, 10);
    // Two blocks without bits, of a billion numbers each.
    let mut zeros = Vec::new();
    [1 << 30, 1, many, 0].into_iter().for_each(|number| varint(number, &mut zeros));
    zeros.extend([0; 4]);
    texts(zeros.clone(), zeros.clone(), 1, 10);
    let lengths = |lengths: Vec<u8>, text: usize| {
        let body = [lengths, vec![b'x'; text]].concat();
        refused(10, &page(0, DELTA_LENGTHS, 10, &body))
    };
    lengths(delta(5, 1, 9), 13);
    lengths(delta(5, -1, 9), 14);
    lengths(vec![128, 1, 4, 10, 0], 0);
    lengths(vec![0xff; 30], 0);
    // As many numbers as it says, whose lengths alone take 32 GB.
    let body = [zeros.clone(), zeros].concat();
    let bytes = of_pages(many, &page(0, DELTA_TEXTS, many, &body));
    assert!(refusal(&file(&folder, "b.parquet", &bytes), 64 << 20) > 1 << 34);
}

/// Strings, each after its length.
fn texts(texts: &[&str]) -> Vec<u8> {
    let one = |text: &&str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    texts.iter().flat_map(one).collect()
}

#[test]
fn strings_beyond_their_page_are_broken() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |pages: &[u8]| broken(&file(&folder, "a.parquet", &of_pages(3, pages)));
    let places = page(0, DICTIONARY, 3, &[1, 6, 0]);
    // The first string leaves no room for the second.
    let dictionary = page(2, PLAIN, 2, &texts(&["long"]));
    assert!(refused(&[dictionary, places].concat()).contains("a dictionary"));
    let whole = texts(&["a", "b", "c"]);
    run(&file(&folder, "b.parquet", &of_pages(3, &page(0, PLAIN, 3, &whole))), 64 << 20).unwrap();
    for end in 0..whole.len() {
        refused(&page(0, PLAIN, 3, &whole[..end]));
    }
    // Three values that are not null, of which some are missing.
    let levels = [2, 0, 0, 0, 3 << 1, 1];
    let optional = |end: usize| {
        let body = [&levels, &whole[..end]].concat();
        let pages = page(0, PLAIN, 3, &body);
        run(&file(&folder, "c.parquet", &of_pages_with(3, &pages, OPTIONAL)), 64 << 20)
    };
    optional(whole.len()).unwrap();
    for end in 0..whole.len() {
        let error = optional(end).unwrap_err().to_string();
        assert!(error.contains("damaged") && !error.contains('\n'), "{end}: {error}");
    }
    // One that is null.
    let levels = [3, 0, 0, 0, 1 << 1 | 1, 0b101, 0];
    let body = [&levels, &texts(&["a", "b"])[..]].concat();
    let pages = page(0, PLAIN, 3, &body);
    let error = run(&file(&folder, "d.parquet", &of_pages_with(3, &pages, OPTIONAL)), 64 << 20);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("row 2") && error.contains("null"), "{error}");
}

/// Changes bytes of files of every encoding; each is read, or is an error of one line.
fn check_damaged(changes: u64) {
    use Encoding::{BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY};
    use Encoding::{DELTA_LENGTH_BYTE_ARRAY, PLAIN, RLE_DICTIONARY};
    let texts = |n: i32| Column::Text((0..300).map(|at| format!("name{}", at * n % 97)).collect());
    let numbers = |n: i32| Column::I32((0..300).map(|at| at * n % 97).collect());
    let integers = "message m { optional int32 a; optional int32 b; }";
    let names = "message m { required binary a (UTF8); required binary b (UTF8); }";
    let kinds = [
        (integers, vec![PLAIN, RLE_DICTIONARY, DELTA_BINARY_PACKED, BYTE_STREAM_SPLIT]),
        (names, vec![PLAIN, RLE_DICTIONARY, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % end
    };
    let mut read = 0;
    for (schema, encodings) in kinds {
        for encoding in encodings {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                let properties = WriterProperties::builder()
                    .set_writer_version(version)
                    .set_dictionary_enabled(encoding == RLE_DICTIONARY);
                let properties = match encoding {
                    RLE_DICTIONARY => properties,
                    encoding => properties.set_encoding(encoding),
                };
                let columns = match schema == names {
                    true => vec![texts(7), texts(11)],
                    false => vec![numbers(7), numbers(11)],
                };
                let whole = parquet(schema, properties.build(), &[columns]);
                for change in 0..changes {
                    let mut bytes = whole.clone();
                    for _ in 0..change % 4 {
                        let at = [below(bytes.len()), below(80), bytes.len() - 1 - below(500)];
                        bytes[at[below(3)]] = [0, 1, 0x7f, 0xff, below(256) as u8][below(5)];
                    }
                    let input = Input::File(file(&folder, "a.parquet", &bytes));
                    let config = ComponentsConfig::default().threads(1).memory_bytes(16 << 20);
                    match components(&[input], &config, &NoProgress) {
                        Ok(_) => read += 1,
                        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
                    }
                }
            }
        }
    }
    assert!(read >= 4 * changes, "those without a change");
}

#[test]
fn damaged_files_are_read_or_are_errors() {
    check_damaged(28);
}

#[test]
#[ignore = "long: make soak"]
fn longer_damaged_files_are_read_or_are_errors() {
    check_damaged(1_500);
}

#[test]
fn files_one_after_the_other_take_the_memory_of_one() {
    let folder = tempfile::tempdir().unwrap();
    // A footer of 8 MB decoded.
    let bytes = |name: &str| {
        let mut pages =
            of_pages(2, &page(0, DELTA_LENGTHS, 2, &[&delta(1, 1, 1)[..], b"xy"].concat()));
        pages.truncate(pages.len() - 9);
        let length = pages.len() - 4;
        let start = pages.windows(4).rposition(|bytes| bytes == b"\x15\x02\x19\xfc").unwrap();
        let length = length - (start - 4);
        let more = Thrift { bytes: Vec::new(), last: 4 }.list(5, STRUCT, 100_000);
        pages.extend(&more.bytes);
        (0..100_000).for_each(|_| pages.extend([0x18, 0, 0]));
        pages.push(0);
        let length = length + more.bytes.len() + 300_001;
        file(&folder, name, &with_tail(pages, &[], length as u32))
    };
    let specs: Vec<InputSpec> = (0..12).map(|at| bytes(&format!("{at}.parquet"))).collect();
    let needed = refusal(&specs[0], 4 << 20);
    let config = ImportConfig::default().ids(IdKind::String).threads(3).overwrite(true);
    let out = folder.path().join("g.cenote");
    let report = import(&specs, &out, &config.memory_bytes(needed + (16 << 20)), &NoProgress);
    assert_eq!(report.unwrap().input_edges, 24);
}

#[test]
fn many_inputs_of_names_lose_no_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let inputs: Vec<Input<'_>> =
        (0..40).map(|at| Edges::iter([(format!("a{at}"), "b".to_owned())]).into()).collect();
    let workspace = FileWorkspace::new(&folder.path().join("g"), &[], None, false).unwrap();
    let config = ImportConfig::default().threads(1);
    let report = import_edges(&inputs, &workspace, &config, &NoProgress).unwrap();
    assert_eq!((report.vertices, report.edges), (41, 40));
}
