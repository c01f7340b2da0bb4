//! What may be found in the place of a file of the runtime directory.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// What is done to the file at a path, by name.
pub(crate) type Ruin = (&'static str, fn(&Path));

/// What a file of the program's own replaces.
pub(crate) const REPLACED: [Ruin; 3] = [
    ("nothing", |file| fs::remove_file(file).unwrap()),
    ("emptiness", |file| fs::write(file, "").unwrap()),
    ("a link", |file| {
        let target = file.with_file_name("other");
        fs::rename(file, &target).unwrap();
        symlink(&target, file).unwrap();
    }),
];

/// What it does not replace, so that there can be no file.
pub(crate) const IN_THE_WAY: [Ruin; 3] = [
    ("a directory in its place", |file| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
    ("a file in the place of its directory", |file| {
        let directory = file.parent().unwrap();
        fs::remove_dir_all(directory).unwrap();
        fs::write(directory, "").unwrap();
    }),
    ("a directory that others may write to", |file| {
        fs::remove_file(file).unwrap();
        let all = Permissions::from_mode(0o777);
        fs::set_permissions(file.parent().unwrap(), all).unwrap();
    }),
];
