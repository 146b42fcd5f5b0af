//! Every input format, plain and compressed.

use std::io::Write;

use cenote_import::{Format, Header, IdKind, ImportConfig, InputSpec};

use crate::oracle::{Id, assert_imports, file, integers, names};

fn directed() -> ImportConfig {
    ImportConfig::default().directed(true).in_edges(true).memory_bytes(64 << 20)
}

fn undirected() -> ImportConfig {
    ImportConfig::default().memory_bytes(64 << 20)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn edge_lists_take_comments_blanks_commas_and_further_columns() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"# SNAP\n% KONECT\n\n1 2\n2\t3\r\n  3 , 4  \n4,1,0.5\n1\t2\t7 8\n \n5 5";
    let spec = file(&folder, "a.txt", text);
    let edges = integers(&[(1, 2), (2, 3), (3, 4), (4, 1), (1, 2), (5, 5)]);
    let report = assert_imports(std::slice::from_ref(&spec), &directed(), &edges, &[]);
    assert_eq!(report.lines_with_more_columns, 2);
    assert_eq!(report.input_lines, 10);
    assert_eq!(report.input_edges, 6);
    assert_imports(&[spec], &undirected(), &edges, &[]);
}

#[test]
fn gzip_members_and_zstd_frames_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (b"1 2\n2 3\n3 ", b"4\n4 5\n");
    let edges = integers(&[(1, 2), (2, 3), (3, 4), (4, 5)]);
    let members = [gzip(first), gzip(second)].concat();
    let frames =
        [zstd::encode_all(&first[..], 3).unwrap(), zstd::encode_all(&second[..], 3).unwrap()];
    for (name, bytes) in [
        ("a.txt.gz", members.clone()),
        ("a.txt.zst", frames.concat()),
        // The bytes decide, not the ending.
        ("b.txt", members),
        ("c.txt.gz", [&first[..], &second[..]].concat()),
    ] {
        let spec = file(&folder, name, &bytes);
        assert_imports(&[spec], &directed(), &edges, &[]);
    }
}

#[test]
fn a_long_zstd_window_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packer.window_log(28).unwrap();
    packer.long_distance_matching(true).unwrap();
    packer.write_all(b"1 2\n").unwrap();
    let spec = file(&folder, "a.el.zst", &packer.finish().unwrap());
    let roomy = directed().memory_bytes(512 << 20);
    assert_imports(&[spec], &roomy, &integers(&[(1, 2)]), &[]);
}

#[test]
fn csv_columns_are_found_by_well_known_names() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"weight,to,From\n1,b,\"a, \"\"x\"\"\"\n2,c,b\n\n3,\"two\nlines\",b\n";
    let spec = file(&folder, "a.csv", text);
    let edges = names(&[("a, \"x\"", "b"), ("b", "c"), ("b", "two\nlines")]);
    assert_imports(&[spec], &directed(), &edges, &[]);
}

#[test]
fn csv_without_a_header_and_with_asked_columns() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.csv", b"1,2\n2,3\n");
    assert_imports(&[spec], &directed(), &integers(&[(1, 2), (2, 3)]), &[]);
    let spec = file(&folder, "b.csv", b"x,y,z\n1,2,3\n");
    let columns = |source: &str, target: &str| InputSpec {
        source_column: Some(source.to_owned()),
        target_column: Some(target.to_owned()),
        ..spec.clone()
    };
    assert_imports(&[columns("z", "x")], &directed(), &integers(&[(3, 1)]), &[]);
    assert_imports(&[columns("2", "3")], &directed(), &integers(&[(2, 3)]), &[]);
    let plain = file(&folder, "c.csv", b"x,y\na,b\n");
    let plain = InputSpec { header: Header::No, ..plain };
    assert_imports(&[plain], &directed(), &names(&[("x", "y"), ("a", "b")]), &[]);
}

#[test]
fn tsv_takes_quotes_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.tsv", b"package\tdepends_on\n\"a\tb c\r\nb c\td\r\n");
    assert_imports(&[spec], &directed(), &names(&[("\"a", "b c"), ("b c", "d")]), &[]);
}

#[test]
fn adjacency_lists_make_vertices_without_edges() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.adjlist", b"# x\n0 1 2\n1\n2 0\n9\n");
    let edges = integers(&[(0, 1), (0, 2), (2, 0)]);
    assert_imports(&[spec], &directed(), &edges, &[Id::Integer(9)]);
}

#[test]
fn metis_counts_each_edge_once_and_keeps_lonely_vertices() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.graph", b"% c\n4 2 011\n7 2 5\n% c\n8 1 5 3 6\n9 2 6\n1\n");
    let edges = integers(&[(1, 2), (2, 3)]);
    let lonely = [Id::Integer(4)];
    let report = assert_imports(std::slice::from_ref(&spec), &undirected(), &edges, &lonely);
    assert_eq!(report.duplicates, 0);
    let both = integers(&[(1, 2), (2, 1), (2, 3), (3, 2)]);
    assert_imports(&[spec], &directed(), &both, &lonely);
}

#[test]
fn a_symmetric_matrix_goes_both_ways_when_directed() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"%%MatrixMarket matrix coordinate real symmetric\n% c\n\n\
                 3 3 3\n2 1 0.5\n3 3 1\n3 2 -1e3\n";
    let spec = file(&folder, "a.mtx", text);
    let once = integers(&[(2, 1), (3, 3), (3, 2)]);
    assert_imports(std::slice::from_ref(&spec), &undirected(), &once, &[]);
    let both = integers(&[(2, 1), (1, 2), (3, 3), (3, 2), (2, 3)]);
    assert_imports(&[spec], &directed(), &both, &[]);
    let general = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n1 3\n";
    let spec = file(&folder, "b.mtx", general);
    assert_imports(&[spec], &directed(), &integers(&[(2, 1), (1, 3)]), &[]);
}

#[test]
fn graphalytics_vertices_and_edges_are_two_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let vertices = file(&folder, "a.v", b"1\n2\n3\n100\n");
    let edges = file(&folder, "a.e", b"1 2 0.3\n3 2 0.1\n");
    let config = directed();
    let lonely = [Id::Integer(100)];
    let report = assert_imports(&[vertices, edges], &config, &integers(&[(1, 2), (3, 2)]), &lonely);
    assert_eq!(report.lines_with_more_columns, 2);
}

#[test]
fn binary_pairs_narrow_and_wide() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = [(7u64, 2u64), (u64::MAX, 7), (2, 1 << 32)];
    let wide: Vec<u8> =
        pairs.iter().flat_map(|&(s, t)| [s, t]).flat_map(u64::to_le_bytes).collect();
    assert_imports(&[file(&folder, "a.u64", &wide)], &directed(), &integers(&pairs), &[]);
    let narrow = [(0u64, 2u64), (u64::from(u32::MAX), 1), (1, 0), (2, 2)];
    let bytes: Vec<u8> =
        narrow.iter().flat_map(|&(s, t)| [s as u32, t as u32]).flat_map(u32::to_le_bytes).collect();
    let plain = file(&folder, "a.u32", &bytes);
    assert_imports(std::slice::from_ref(&plain), &directed(), &integers(&narrow), &[]);
    let packed = file(&folder, "b.u32.zst", &zstd::encode_all(&bytes[..], 1).unwrap());
    assert_imports(std::slice::from_ref(&packed), &directed(), &integers(&narrow), &[]);
    let all = [integers(&pairs), integers(&narrow), integers(&narrow)].concat();
    let config = undirected().keep_duplicates(true).keep_self_loops(true);
    assert_imports(&[file(&folder, "a.u64", &wide), plain, packed], &config, &all, &[]);
}

#[test]
fn binary_pairs_that_begin_like_gzip_are_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let source = u64::from(u32::from_le_bytes([0x1f, 0x8b, 8, 0]));
    let bytes = [0x1f, 0x8b, 8, 0, 5, 0, 0, 0];
    assert_imports(&[file(&folder, "a.u32", &bytes)], &directed(), &integers(&[(source, 5)]), &[]);
}

#[test]
fn binary_adjacency_lists_make_all_their_vertices() {
    let folder = tempfile::tempdir().unwrap();
    let words: [u32; 7] = [2, 1, 3, 0, 1, 0, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let vertices: Vec<Id> = (0..4).map(Id::Integer).collect();
    let edges = integers(&[(0, 1), (0, 3), (2, 0)]);
    let report = assert_imports(&[file(&folder, "a.adj", &bytes)], &directed(), &edges, &vertices);
    assert_eq!(report.ids, "none");
}

#[test]
fn ids_become_strings_where_the_first_non_integer_is_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.txt", b"1 2\n10 x\n-1 1.5\n007 7\n");
    let edges = names(&[("1", "2"), ("10", "x"), ("-1", "1.5"), ("007", "7")]);
    let report = assert_imports(&[spec], &directed(), &edges, &[]);
    assert_eq!(report.ids, "string");
    let asked = directed().ids(IdKind::String);
    let spec = file(&folder, "b.txt", b"1 2\n10 2\n");
    assert_imports(&[spec], &asked, &names(&[("1", "2"), ("10", "2")]), &[]);
    let binary = [3u32, 20].iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<_>>();
    let both = [file(&folder, "c.u32", &binary), file(&folder, "c.txt", b"3 a\n")];
    assert_imports(&both, &directed(), &names(&[("3", "20"), ("3", "a")]), &[]);
}

#[test]
fn several_inputs_of_several_formats_are_one_graph() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [
        file(&folder, "a.txt", b"1 2\n"),
        file(&folder, "b.csv", b"source,target\n2,3\n"),
        InputSpec { format: Some(Format::Edges), ..file(&folder, "c", b"3 1\n1 2\n") },
    ];
    assert_imports(&inputs, &undirected(), &integers(&[(1, 2), (2, 3), (3, 1), (1, 2)]), &[]);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.csv", b"\xef\xbb\xbfsource,target\n1,2\n");
    assert_imports(&[spec], &directed(), &integers(&[(1, 2)]), &[]);
}

#[test]
fn lines_far_longer_than_a_block_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = b"0".to_vec();
    let targets: Vec<u64> = (1..200_000).collect();
    targets.iter().for_each(|target| text.extend(format!(" {target}").bytes()));
    text.extend(b"\n5 6\n");
    let mut edges: Vec<(u64, u64)> = targets.iter().map(|&target| (0, target)).collect();
    edges.push((5, 6));
    let spec = file(&folder, "a.adjlist", &text);
    assert_imports(&[spec], &directed(), &integers(&edges), &[]);
}
