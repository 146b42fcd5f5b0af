//! The three stores behind one face.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result};
use cenote::{IdRef, Import, Op, Update};
use cenote_device::backend::file::{OpenOptions, open};
use cenote_store::{Batch, Change, Store, WriteLimits};
use cenote_workload::Edge;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use redb::{ReadableDatabase, ReadableTableMetadata, TableDefinition};

const EDGES: TableDefinition<'static, [u8; 8], ()> = TableDefinition::new("edges");

/// Which store.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Kind {
    Cenote,
    Redb,
    Fjall,
}

impl Kind {
    #[cfg(test)]
    pub const ALL: [Self; 3] = [Self::Cenote, Self::Redb, Self::Fjall];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cenote => "cenote",
            Self::Redb => "redb",
            Self::Fjall => "fjall",
        }
    }

    /// The version in `Cargo.lock`.
    pub fn version(self) -> &'static str {
        let lock = include_str!("../Cargo.lock");
        let package = format!("name = \"{}\"\nversion = \"", self.name());
        let after = lock.split(&package).nth(1).expect("a dependency is in the lock file");
        after.split('"').next().expect("a version ends")
    }
}

/// An open store.
pub enum Engine {
    /// Changes go through the library's `Update`, as `cenote update` makes them.
    Graph(Box<Mutex<Update>>),
    /// Commits of several threads at a time need the store itself.
    Store(Box<Store>),
    Redb(redb::Database),
    Fjall(Database, Keyspace),
}

impl Engine {
    /// A store without edges, of so many vertices.
    pub fn create(kind: Kind, folder: &Path, vertices: u64, memory: u64) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        match kind {
            Kind::Cenote => {
                let path = file(folder, kind);
                Import::new().vertices(0..vertices).run(&path)?;
                let update = Update::options().memory(memory).open(&path)?;
                Ok(Self::Graph(Box::new(Mutex::new(update))))
            }
            Kind::Redb => {
                let database = redb::Builder::new()
                    .set_cache_size(memory as usize)
                    .create(file(folder, kind))?;
                let transaction = database.begin_write()?;
                transaction.open_table(EDGES)?;
                transaction.commit()?;
                Ok(Self::Redb(database))
            }
            Kind::Fjall => Self::open(kind, folder, memory),
        }
    }

    /// What `create` has made and `add` has filled, for commits of many threads.
    pub fn open(kind: Kind, folder: &Path, memory: u64) -> Result<Self> {
        let path = file(folder, kind);
        match kind {
            Kind::Cenote => {
                // More for pages than `Update` gives, so that a graph may be in memory.
                let limits = WriteLimits::default().page_bytes(memory / 2).run_bytes(memory / 8);
                let store = Store::open(open(&path, &OpenOptions::default())?)?;
                Ok(Self::Store(Box::new(store.with_limits(limits))))
            }
            Kind::Redb => {
                Ok(Self::Redb(redb::Builder::new().set_cache_size(memory as usize).open(path)?))
            }
            Kind::Fjall => {
                // Its guide gives the cache a quarter of the memory; memtables take 64 MiB each.
                let database = Database::builder(path).cache_size(memory / 4).open()?;
                let keyspace = database.keyspace("edges", KeyspaceCreateOptions::default)?;
                Ok(Self::Fjall(database, keyspace))
            }
        }
    }

    /// Adds the edges as one batch; durable when it returns.
    pub fn add(&self, edges: &[Edge]) -> Result<()> {
        match self {
            Self::Graph(update) => {
                let mut update = update.lock().expect("one thread adds");
                for pair in edges {
                    let pair = pair.map(|id| IdRef::Integer(id.into()));
                    update.push(Op::Add, pair, None)?;
                }
                update.commit()?;
            }
            Self::Store(store) => {
                let change = |&[source, target]: &Edge| Change { op: Op::Add, source, target };
                let changes = edges.iter().map(change).collect();
                store.commit(&Batch { changes, ..Batch::default() })?;
            }
            Self::Redb(database) => {
                let transaction = database.begin_write()?;
                let mut table = transaction.open_table(EDGES)?;
                for key in keys(edges) {
                    table.insert(key, ())?;
                }
                drop(table);
                transaction.commit()?;
            }
            Self::Fjall(database, keyspace) => {
                let mut batch = database.batch().durability(Some(PersistMode::SyncData));
                for key in keys(edges) {
                    batch.insert(keyspace, key, []);
                }
                batch.commit()?;
            }
        }
        Ok(())
    }

    /// Adds one edge, by any thread; durable when it returns.
    pub fn add_one(&self, edge: Edge) -> Result<()> {
        self.add(&[edge])
    }

    /// Brings a graph into its memory by edges that it has, which changes nothing. The other stores
    /// find what they have just written in the kernel's page cache; a graph is read past it.
    pub fn warm(&self, stored: &[Edge]) -> Result<()> {
        match self {
            Self::Store(_) => {
                stored.chunks(WriteLimits::LOGGED_MAX).try_for_each(|some| self.add(some))
            }
            _ => Ok(()),
        }
    }

    /// Waits for work in the background.
    pub fn settle(&self) -> Result<()> {
        if let Self::Graph(update) = self {
            update.lock().expect("nobody adds").settle()?;
        }
        if let Self::Fjall(database, _) = self {
            let mut idle = 0;
            while idle < 3 {
                std::thread::sleep(Duration::from_millis(20));
                let busy = database.outstanding_flushes() + database.active_compactions() > 0;
                idle = if busy { 0 } else { idle + 1 };
            }
        }
        Ok(())
    }

    /// Entries that are stored, two for an edge. A graph is merged for that.
    pub fn entries(&self) -> Result<u64> {
        match self {
            Self::Graph(_) => anyhow::bail!("a graph that is being changed has no count"),
            Self::Store(store) => {
                store.merge()?;
                Ok(store.superblock().stored_out)
            }
            Self::Redb(database) => Ok(database.begin_read()?.open_table(EDGES)?.len()?),
            Self::Fjall(_, keyspace) => Ok(keyspace.len()? as u64),
        }
    }

    /// Ends the store as a program would.
    pub fn close(self) -> Result<()> {
        match self {
            Self::Redb(database) => database.close().context("redb is closed"),
            Self::Graph(_) | Self::Store(_) | Self::Fjall(..) => Ok(()),
        }
    }
}

fn file(folder: &Path, kind: Kind) -> PathBuf {
    folder.join(format!("edges.{}", kind.name()))
}

/// Both keys of each edge, ascending: what a tree takes fastest.
fn keys(edges: &[Edge]) -> Vec<[u8; 8]> {
    let key =
        |source: u32, target: u32| (u64::from(source) << 32 | u64::from(target)).to_be_bytes();
    let both = |&[source, target]: &Edge| [key(source, target), key(target, source)];
    let mut keys: Vec<_> = edges.iter().flat_map(both).collect();
    keys.sort_unstable();
    keys
}
