//! How the pages of a large delta run are read: by several threads, ahead of them, and again where
//! not all of them stay in memory.

use std::collections::BTreeSet;
use std::thread::scope;

use cenote_store::superblock::SectionKind;
use cenote_store::{Direction, Graph, LookupConfig, Store, WriteLimits, take_run_reads};

use crate::graphs::model::{add, changes};
use crate::graphs::{Random, TestGraph};
use crate::live::{Live, assert_same};

const VERTICES: u32 = 20_000;
const PAGE_BYTES: u64 = 4096;

/// A graph, and one run of some hundred pages.
fn with_a_large_run() -> Live {
    with_runs(&[40_000])
}

/// A graph, and runs of so many random changes.
fn with_runs(counts: &[usize]) -> Live {
    let mut random = Random(3);
    let mut pairs = |count: usize| -> Vec<(u32, u32)> {
        let mut vertex = || random.below(VERTICES.into()) as u32;
        (0..count).map(|_| (vertex(), vertex())).collect()
    };
    let edges: BTreeSet<_> = pairs(60_000).into_iter().filter(|(u, v)| u < v).collect();
    let added: Vec<_> = counts.iter().map(|count| pairs(*count)).collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = TestGraph::undirected(VERTICES as usize, &edges);
    let mut live = Live::new(TestGraph { duplicates_kept: false, ..graph });
    let limits = WriteLimits::default().bulk_run_percent(1_000_000);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
    for added in added {
        live.commit(&changes(added.into_iter().map(|(u, v)| add(u, v))));
    }
    assert_eq!(live.graph().runs(), counts.len());
    live
}

fn opened(live: &Live, run_pages: u64) -> Graph {
    let lookups = LookupConfig::default().run_bytes(run_pages * PAGE_BYTES);
    Graph::open_with(live.device.shared(), |_| lookups).unwrap()
}

fn scan(graph: &Graph) -> cenote_store::Result<u64> {
    let mut entries = 0;
    graph.scan(Direction::Out, &mut |_, page| {
        entries += page.entries().len() as u64;
        Ok(())
    })?;
    Ok(entries)
}

#[test]
fn a_pass_reads_each_page_of_a_run_once() {
    for counts in [&[40_000][..], &[40_000, 18_000, 60_000]] {
        let live = with_runs(counts);
        let pages = live.graph().superblock().section(SectionKind::DeltaRuns).unwrap().pages;
        assert!(pages > 100, "{pages} pages");
        for run_pages in [0, 7, 8, 40, 100, pages] {
            let graph = opened(&live, run_pages);
            take_run_reads();
            for pass in 0..2 {
                let entries = scan(&graph).unwrap();
                assert_eq!(entries, graph.superblock().stored_out);
                let (requests, bytes) = take_run_reads();
                let is_kept = pass > 0 && run_pages >= pages;
                let expected = if is_kept { 0 } else { pages * PAGE_BYTES };
                let case = format!("{counts:?}, {run_pages} pages kept, pass {pass}");
                assert_eq!(bytes, expected, "{case}, {requests} requests");
            }
        }
    }
}

/// As a visit does, which asks for the runs of some pages when it begins to read these.
#[test]
fn what_is_asked_for_before_a_pass_is_read_in_whole_chunks_and_once() {
    let live = with_a_large_run();
    let pages = live.graph().superblock().section(SectionKind::DeltaRuns).unwrap().pages;
    for run_pages in [0, 64, pages] {
        let graph = opened(&live, run_pages);
        let adjacency = graph.adjacency(Direction::Out).unwrap();
        let ask = |from, to| {
            take_run_reads();
            adjacency.read_runs_for(from..to);
            take_run_reads()
        };
        assert_eq!(ask(3, 3), (0, 0), "of no page");
        let chunk = match run_pages {
            0 => 1,
            64 => 4,
            _ => pages / 4,
        };
        let case = format!("{run_pages} of {pages} pages kept");
        assert_eq!(ask(0, 1), (1, chunk * PAGE_BYTES), "{case}");
        assert_eq!(ask(0, 1), (0, 0), "{case}: it is being read, or was");
        take_run_reads();
        assert_eq!(scan(&graph).unwrap(), graph.superblock().stored_out);
        assert_eq!(take_run_reads().1, (pages - chunk) * PAGE_BYTES, "{case}");
    }
}

#[test]
fn pages_and_lists_have_no_more_entries_than_is_said_whatever_runs_add() {
    for counts in [&[40_000][..], &[18_000, 40_000, 90_000]] {
        let live = with_runs(counts);
        let graph = live.graph();
        let adjacency = graph.adjacency(Direction::Out).unwrap();
        let (mut entries, mut longest) = (Vec::new(), 0);
        let scanned = graph.scan(Direction::Out, &mut |_, page| {
            entries.push(page.entries().len() as u64);
            longest = longest.max(page.lists().map(|list| list.degree).max().unwrap_or(0));
            Ok(())
        });
        scanned.unwrap();
        entries.sort_unstable_by(|a, b| b.cmp(a));
        for pages in [1, 2, 7, entries.len()] {
            let (fullest, most) = (&entries[..pages], adjacency.entries_max_of(pages as u64));
            assert!(fullest.iter().sum::<u64>() <= most, "{counts:?}: {pages} pages, {most}");
        }
        assert!(longest <= adjacency.list_entries_bound(), "{counts:?}: {longest}");
    }
}

/// Of 490 pages the second run gets 129, too little for its 136, but the first one leaves some.
#[test]
fn memory_that_a_small_run_does_not_need_is_for_the_others() {
    let live = with_runs(&[17_000, 34_000, 150_000]);
    let pages = live.graph().superblock().section(SectionKind::DeltaRuns).unwrap().pages;
    let graph = opened(&live, 490);
    let again = graph.adjacency(Direction::Out).unwrap().run_reads().pages_again;
    assert!(again + 68 + 136 <= pages, "{again} of {pages} pages are read again");
    take_run_reads();
    for expected in [pages, again] {
        scan(&graph).unwrap();
        assert_eq!(take_run_reads().1, expected * PAGE_BYTES);
    }
}

/// What is set aside replaces what is usually kept, as long as it lasts.
#[test]
fn pages_of_runs_are_kept_in_the_memory_that_is_set_aside() {
    let live = with_runs(&[40_000, 18_000]);
    let pages = live.graph().superblock().section(SectionKind::DeltaRuns).unwrap().pages;
    let read = |graph: &Graph| {
        take_run_reads();
        scan(graph).unwrap();
        take_run_reads().1 / PAGE_BYTES
    };
    for usual in [0, pages] {
        let graph = opened(&live, usual);
        let reads_usually = |what: &str| {
            assert!(read(&graph) <= pages, "{what}");
            assert_eq!(read(&graph), if usual == 0 { pages } else { 0 }, "{what}");
        };
        reads_usually("nothing is set aside");
        let without = graph.memory_bytes_without_runs();
        let little = graph.keep_runs(0);
        let few_bytes = graph.run_bytes_with(0, 0);
        assert!(few_bytes <= 8 * PAGE_BYTES);
        assert_eq!((graph.memory_bytes() - without) as u64, few_bytes);
        assert!(read(&graph) + 8 >= pages, "what was kept before is dropped");
        assert_eq!(read(&graph), pages);
        let all = graph.keep_runs(pages * PAGE_BYTES);
        assert!(read(&graph) + 8 >= pages);
        assert_eq!(read(&graph), 0, "all pages are kept");
        let other = graph.keep_runs(pages * PAGE_BYTES);
        drop(all);
        assert_eq!(read(&graph), 0, "so much is set aside twice");
        drop(other);
        assert!(read(&graph) + 8 >= pages, "only a little is set aside");
        drop(little);
        reads_usually("nothing is set aside any more");
    }
}

/// A page of lists has about a page of changes here, in one page of the run or in two.
#[test]
fn single_lists_read_few_pages_of_a_run() {
    let live = with_runs(&[17_000]);
    let pages = live.graph().superblock().section(SectionKind::DeltaRuns).unwrap().pages;
    let lists: Vec<u32> = (500..VERTICES).step_by(7000).collect();
    for run_pages in [0, 40, 300] {
        let graph = opened(&live, run_pages);
        take_run_reads();
        // One after the other, so that they ascend.
        let mut lookup = graph.lookup().unwrap();
        lists.iter().for_each(|list| drop(lookup.read(Direction::Out, &[*list]).unwrap()));
        let (requests, bytes) = take_run_reads();
        let (most, read) = (lists.len() as u64, bytes / PAGE_BYTES);
        assert!(requests <= 2 * most && read <= 3 * most, "{requests}, {read} of {pages} pages");
    }
}

#[test]
fn many_lists_read_each_page_of_runs_once_in_few_requests() {
    let live = with_runs(&[40_000, 18_000, 60_000]);
    let pages = live.graph().superblock().section(SectionKind::DeltaRuns).unwrap().pages;
    let lists_of = live.model.lists();
    let every = |step: usize| -> Vec<u32> { (0..VERTICES).step_by(step).collect() };
    let few = [(1000, 1, pages / 8), (200, 1, pages * 3 / 4), (200, 40, pages * 3 / 4)];
    for (run_pages, step, requests_max) in few {
        let graph = opened(&live, run_pages);
        let lists = every(step);
        take_run_reads();
        let found = graph.lookup().unwrap().read(Direction::Out, &lists).unwrap();
        let (requests, bytes) = take_run_reads();
        for (list, found) in lists.iter().zip(found) {
            let expected = &lists_of.out[*list as usize];
            assert_eq!(found, *expected, "list {list}, {run_pages} pages kept");
        }
        let read = bytes / PAGE_BYTES;
        let case = format!("{run_pages} kept, step {step}: {read} of {pages} in {requests}");
        assert!(read <= pages + pages / 20 && requests <= requests_max, "{case}");
    }
    // With so little memory pages are read again.
    let found = opened(&live, 0).lookup().unwrap().read(Direction::Out, &every(1)).unwrap();
    assert_eq!(found, lists_of.out);
}

#[test]
fn several_threads_read_a_run_at_once() {
    let live = with_a_large_run();
    for run_pages in [0, 8, 40, 1000] {
        let graph = opened(&live, run_pages);
        scope(|scope| {
            let read = || assert_same(&graph, &live.model);
            (0..3).for_each(|_| drop(scope.spawn(read)));
        });
    }
}

/// Also one that is read ahead: then the thread that needs it reports it, and none waits for ever.
#[test]
fn a_page_that_cannot_be_read_is_an_error_until_it_can() {
    let live = with_a_large_run();
    let section = *live.graph().superblock().section(SectionKind::DeltaRuns).unwrap();
    let entries = live.graph().superblock().stored_out;
    for run_pages in [0, 40, 1000] {
        let graph = opened(&live, run_pages);
        for page in section.range().step_by(9) {
            let at = (graph.physical(page) * PAGE_BYTES) as usize;
            live.device.fail_reads_of(at..at + PAGE_BYTES as usize);
            let read =
                scope(|scope| [(); 2].map(|()| scope.spawn(|| scan(&graph))).map(|t| t.join()));
            live.device.fail_reads_of(0..0);
            for read in read {
                match read.unwrap() {
                    Err(error) => assert!(error.to_string().contains("error 5"), "{error}"),
                    Ok(found) => assert_eq!((found, run_pages), (entries, 1000), "in memory"),
                }
            }
            assert_eq!(scan(&graph).unwrap(), entries, "it can be read again");
        }
    }
}
