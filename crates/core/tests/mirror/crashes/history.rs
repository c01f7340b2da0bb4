//! A list with a past, and what a mirror of it may hold.

use super::with;
use crate::list::{List, contact};
use crate::{CONTACTS, applied, as_of, files, run, sync};
use std::fs;
use std::path::Path;
use talentdata_core::mirror::Mirror;

/// What the list was at each generation, the first at index 0.
pub(crate) struct History {
    pub(crate) list: List,
    archives: Vec<String>,
    /// A mirror with all of them but the last.
    pub(crate) mirror: tempfile::TempDir,
}

impl History {
    /// Of so many generations, of which the last is only in the list.
    pub(crate) async fn of(generations: u64) -> Self {
        let list = List::with_ids(0..1);
        let mirror = tempfile::tempdir().unwrap();
        let mut archives = Vec::new();
        for number in 1..=generations {
            let ids = (0..130).filter(|id| (id + number) % 40 != 0);
            list.set(ids.map(|id| match (id + number) % 30 {
                0 => contact(id).replace("A", &number.to_string()),
                1 => contact(id).replace(':', ": "),
                _ => contact(id),
            }));
            archives.push(list.lines());
            if number < generations {
                sync(&list.client, mirror.path()).await.unwrap();
            }
        }
        History {
            list,
            archives,
            mirror,
        }
    }

    /// Whether a mirror holds what it should: the generations before, and perhaps the last.
    fn check(&self, path: &Path, place: &str) {
        let Ok(mirror) = Mirror::open(path) else {
            assert_eq!(self.archives.len(), 1, "{place}");
            return;
        };
        if mirror.resources().is_empty() {
            assert_eq!(self.archives.len(), 1, "{place}");
            return;
        }
        let generations = mirror.generations(CONTACTS).unwrap();
        let last = generations.last().unwrap().generation as usize;
        assert!(last + 1 >= self.archives.len(), "{place}");
        for one in generations {
            let archive = &self.archives[(one.generation as usize).min(self.archives.len()) - 1];
            assert_eq!(&as_of(path, one.generation), archive, "{place}");
        }
        // Whatever file holds the list now, it is that of the last generation.
        let current = fs::read(mirror.current_path(CONTACTS).unwrap()).unwrap();
        let rows = self.archives[last.min(self.archives.len()) - 1]
            .lines()
            .count();
        assert_eq!(rows_of(current), rows, "{place}");
    }

    /// Goes on after a sync that was cut off.
    pub(crate) async fn go_on(&self, path: &Path, fold: bool, place: &str) {
        self.check(path, place);
        let went_on = run(&with(path, fold), &self.list.client).await;
        went_on.unwrap_or_else(|error| panic!("{place}: {error}"));
        self.check(path, place);
        if !fold {
            let copy: Vec<String> = applied(path).into_values().collect();
            let lines = self.archives.last().unwrap().lines();
            assert_eq!(copy.len(), lines.count(), "{place}");
        }
        let left = files(path).into_keys().filter(|name| {
            let name = Path::new(name).file_name().unwrap().to_str().unwrap();
            name.starts_with('.') && name != ".talentdata-lock"
        });
        assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{place}");
        let directories = fs::read_dir(path).unwrap();
        let hidden = directories.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_str().unwrap().starts_with(".sync-")
        });
        assert_eq!(hidden.count(), 0, "{place}");
        // Nothing is there that the manifest does not name.
        let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
        for name in files(path).into_keys().filter(|name| name.contains('/')) {
            assert!(manifest.contains(&format!("\"{name}\"")), "{place}: {name}");
        }
    }
}

fn rows_of(parquet: Vec<u8>) -> usize {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    fs::write(&path, parquet).unwrap();
    let file = fs::File::open(path).unwrap();
    let batches = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    batches.map(|batch| batch.unwrap().num_rows()).sum()
}
