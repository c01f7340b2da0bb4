//! The table of options: one row per option of scans, exports, syncs and mirrors. Every surface reads it.
//!
//! C, Python and the command line read it at run time, and `cargo xtask generate` includes this file and writes
//! docs/options.md from it. A new option is a row here, its line in `JobOptions::set`, and the code that uses it.
//!
//! The name is the same everywhere: `page_size` is `page_size` for `talentdata_options_set` in C and as an argument in
//! Python, and `--page-size` on the command line.

use JobKind::{Changes, Export, Mirror, Scan, Schema, Sync};
use OptionKind::{Age, Choice, Columns, Count, CountOrShare, Flag, Mode, Names};

/// An option of a scan, an export, a sync or a mirror.
#[derive(Clone, Copy, Debug)]
pub struct JobOption {
    /// The name on every surface.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: OptionKind,
    /// The jobs that have the option.
    pub jobs: &'static [JobKind],
    /// A phrase that describes the option.
    pub what: &'static str,
}

/// The kind of values that an option takes.
#[derive(Clone, Copy, Debug)]
pub enum OptionKind {
    /// A number of records, from a minimum to a maximum.
    Count(u64, u64),
    /// True or false. The default is false.
    Flag,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A number of records, or a share of them.
    CountOrShare,
    /// A duration with its unit.
    Age,
    /// The permissions of a file, in octal digits.
    Mode,
    /// Names or JSON pointers of fields.
    Names,
    /// The schema of a list. On the command line it is a schema file.
    Columns,
}

/// A job that has options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// A scan of a list.
    Scan,
    /// An export of a list to a file.
    Export,
    /// A sync of a list into a mirror.
    Sync,
    /// The schema of a list.
    Schema,
    /// Records in a mirror.
    Mirror,
    /// Changes in a mirror.
    Changes,
}

/// Every option.
pub const JOB_OPTIONS: &[JobOption] = &[
    JobOption {
        name: "page_size",
        kind: Count(1, u64::MAX),
        jobs: &[Scan, Export, Sync],
        what: "Records to request per page; by default the maximum of the list",
    },
    JobOption {
        name: "limit",
        kind: Count(0, u64::MAX),
        jobs: &[Scan, Export],
        what: "The maximum number of records; by default all",
    },
    JobOption {
        name: "fields",
        kind: Names,
        jobs: &[Scan, Export, Sync, Schema],
        what: "The only fields to keep, in addition to id, for example email,/languages/*/level: names or JSON pointers, with * for the items of an array. Other fields are removed before a record is delivered or written, so a record is no longer the service's own text. By default all fields are kept. Names that no record has are reported",
    },
    JobOption {
        name: "drop",
        kind: Names,
        jobs: &[Scan, Export, Sync, Schema],
        what: "The fields to omit, written like the option fields, with which it cannot be combined; id cannot be omitted",
    },
    JobOption {
        name: "hash",
        kind: Names,
        jobs: &[Scan, Export, Sync, Schema],
        what: "The fields to replace by a digest of their value, written like the option fields and kept in addition to it: equal values have equal digests. Null stays null. The setting hash_key has the key",
    },
    JobOption {
        name: "columns",
        kind: Choice(&["typed", "json"]),
        jobs: &[Scan, Export, Schema, Mirror, Changes],
        what: "Types of nested values and of timestamps: lists, structs and timestamps (typed, the default), or JSON text and \
               strings (json). CSV always has the text of the service",
    },
    JobOption {
        name: "schema",
        kind: Columns,
        jobs: &[Scan, Export, Mirror, Changes],
        what: "The columns of one list, as `talentdata schema` prints them, instead of inferred columns or those of the mirror. Receipts list any differences",
    },
    JobOption {
        name: "on_new_field",
        kind: Choice(&["keep", "freeze", "fail"]),
        jobs: &[Scan, Export, Sync, Mirror, Changes],
        what: "The treatment of fields without a column, and of values that do not fit the type of their column: keep them and report them (keep, the default), keep them silently (freeze), or fail. They are kept in the column _extra; with keep, a sync adds columns for new fields",
    },
    JobOption {
        name: "unproven",
        kind: Choice(&["fail", "warn", "accept"]),
        jobs: &[Scan],
        what: "The end of a list that is not proven complete: an error (fail), a warning (warn), or only the receipt (accept). By default Arrow streams fail, and records are accepted",
    },
    JobOption {
        name: "batch_rows",
        kind: Count(1, 1_048_576),
        jobs: &[Scan, Mirror, Changes],
        what: "Rows of each record batch of an Arrow stream, 4096 by default. Batches have fewer if their rows are large, and \
               before an error",
    },
    JobOption {
        name: "resume",
        kind: Flag,
        jobs: &[Export],
        what: "Continue an interrupted export to this file, or begin if there is none. If its settings differ or it is damaged, the export begins again and says so. In scheduled jobs, pass it in every run",
    },
    JobOption {
        name: "restart",
        kind: Flag,
        jobs: &[Export],
        what: "Discard the kept work of an interrupted export to this file, and begin again",
    },
    JobOption {
        name: "mode",
        kind: Mode,
        jobs: &[Export, Sync],
        what: "The permissions of a new file, for example 0640; by default 0600, so that only its owner can read it. A replaced file and an existing mirror keep their permissions",
    },
    JobOption {
        name: "confirm",
        kind: Flag,
        jobs: &[Sync],
        what: "Scan a list again at once if records are missing after it changed during the scan",
    },
    JobOption {
        name: "max_deletes",
        kind: CountOrShare,
        jobs: &[Sync],
        what: "The maximum number of deletes in one sync, or their share of the records of the list in the mirror, for example 500 or 25%; 100% accepts any number. By default a fifth, rounded up, and at least two",
    },
    JobOption {
        name: "same_service",
        kind: Flag,
        jobs: &[Sync],
        what: "Accept a base_url that differs from the mirror's, because it is another address of the same service. The mirror stores the new address and keeps its history. Set it once, after such a change",
    },
    JobOption {
        name: "keep",
        kind: Age,
        jobs: &[Sync],
        what: "Remove changes and earlier versions that are older than this, for example 90d, 12h or 30m; by default all are kept. Ages are counted from sync to sync, and the changes of the last sync are always kept",
    },
    JobOption {
        name: "keep_deleted",
        kind: Age,
        jobs: &[Sync],
        what: "Erase records whose delete was reported longer ago than this, for example 30d, with all their versions and changes. A change erased has their key until keep removes it. By default keep alone decides",
    },
    JobOption {
        name: "dry_run",
        kind: Flag,
        jobs: &[Sync],
        what: "Read the lists and report the number of inserts, updates, deletes and missing records that a sync would commit, without a commit",
    },
    JobOption {
        name: "before",
        kind: Flag,
        jobs: &[Changes],
        what: "Add the version before an update to each change, as `before` in JSON Lines and as the column _before",
    },
];

impl JobKind {
    /// All jobs with their names in a sentence.
    const ALL: [(JobKind, &str); 6] = [
        (Scan, "scans"),
        (Export, "exports"),
        (Sync, "syncs"),
        (Schema, "schemas"),
        (Mirror, "mirrors"),
        (Changes, "changes"),
    ];

    /// Returns the options of the job.
    pub fn options(self) -> impl Iterator<Item = &'static JobOption> {
        JOB_OPTIONS
            .iter()
            .filter(move |one| one.jobs.contains(&self))
    }

    /// Returns the names of the options of the job, separated by commas.
    pub fn names(self) -> String {
        let names: Vec<&str> = self.options().map(|one| one.name).collect();
        names.join(", ")
    }
}

impl JobOption {
    /// Returns the option of this name.
    ///
    /// # Errors
    /// A message that lists the options.
    pub fn find(name: &str) -> Result<&'static JobOption, String> {
        JOB_OPTIONS
            .iter()
            .find(|one| one.name == name)
            .ok_or_else(|| {
                let all = JobKind::ALL.map(|(job, jobs)| format!("{jobs} have {}", job.names()));
                format!("there is no option {name:?}; {}", all.join("; "))
            })
    }

    /// Returns the flag on the command line, without dashes.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Returns the names of the jobs that have the option, separated by commas.
    pub fn takers(&self) -> String {
        let takers = JobKind::ALL.into_iter();
        let takers = takers.filter(|(job, _)| self.jobs.contains(job));
        takers.map(|(_, jobs)| jobs).collect::<Vec<_>>().join(", ")
    }

    /// Returns a description of the valid values for an error message.
    pub fn values(&self) -> String {
        match self.kind {
            Count(0, u64::MAX) => "a number of records".to_owned(),
            Count(min, u64::MAX) => format!("a number of records, at least {min}"),
            Count(min, max) => format!("a number of records from {min} to {max}"),
            Flag => "true or false".to_owned(),
            Choice(names) => format!("one of {}", names.join(", ")),
            CountOrShare => "a number of records or a share of them".to_owned(),
            Mode => "octal digits such as 0640".to_owned(),
            Age => "a whole number with d, h, m or s".to_owned(),
            Names => {
                "names or JSON pointers of fields, separated by commas, or a JSON array of them"
                    .to_owned()
            }
            Columns => "a schema".to_owned(),
        }
    }

    /// Returns the message for a value of the wrong kind. `got` is a type or a quoted text.
    pub fn wrong_type_message(&self, got: &str) -> String {
        format!("{}: must be {} (got {got})", self.name, self.values())
    }
}
