//! What `spec-diff` says of C is what a compiler finds: the examples and a program of before, against the headers of after.

use super::super::write;
use super::trial::copy_of;
use crate::spec::Spec;
use crate::spec::tests::changed;
use std::path::Path;
use std::process::Command;

/// Reads fields as a program does that was written for the headers of before.
const PROGRAM: &str = "
#include <talentdata.h>

talentdata_error *of_contact(const talentdata_record *contact, talentdata_text *first, talentdata_text *email) {
  talentdata_error *error = talentdata_contact_first_name(contact, first);
  return error ? error : talentdata_contact_email(contact, email);
}

talentdata_error *of_check(const talentdata_record *check, bool *compatible) {
  return talentdata_version_check_response_compatible(check, compatible);
}
";

/// Changes, and whether each breaks the examples or that program.
const CASES: [(&str, bool); 10] = [
    (
        r##"{"set": {"/components/schemas/Contact/properties/age": {"type": "integer"}}}"##,
        false,
    ),
    (
        r##"{"set": {"/paths/~1v1~1teams": {"get": {"operationId": "listTeams", "parameters": [{"$ref": "#/components/parameters/Limit"}, {"$ref": "#/components/parameters/Offset"}], "responses": {"200": {"description": ".", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/PaginatedList"}}}}}}}}}"##,
        false,
    ),
    (
        r##"{"set": {"/components/schemas/Contact/properties/email/description": "Where to write."}}"##,
        false,
    ),
    (
        r##"{"remove": ["/components/schemas/Contact/required/3"]}"##,
        false,
    ),
    (
        r##"{"set": {"/components/schemas/ApiStatus/anyOf/0/enum": ["down", "operational", "maintenance", "degraded"]}}"##,
        false,
    ),
    (
        r##"{"remove": ["/components/schemas/Contact/required/3", "/components/schemas/Contact/properties/email"]}"##,
        true,
    ),
    (
        r##"{"set": {"/components/schemas/Contact/properties/email/type": "integer"}}"##,
        true,
    ),
    (
        r##"{"set": {"/components/schemas/Contact/properties/firstName/type": "object"}}"##,
        true,
    ),
    (
        r##"{"set": {"/components/schemas/VersionCheckResponse/required": ["supported", "endpointCompatibility"]}}"##,
        true,
    ),
    (r##"{"remove": ["/paths/~1v1~1contacts"]}"##, true),
];

#[test]
fn what_breaks_in_c_is_what_does_not_compile() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    copy_of(root);
    std::fs::write(root.join("bindings/c/examples/program.c"), PROGRAM).unwrap();
    let old = Spec::load(root).unwrap();
    assert!(compiles(root));
    for (change, breaks) in CASES {
        let document = changed(&serde_json::from_str(change).unwrap());
        std::fs::write(root.join(crate::spec::FILE), document.to_string()).unwrap();
        let new = Spec::load(root).unwrap();
        write(root).unwrap();
        assert_eq!(compiles(root), !breaks, "{change}");
        assert_eq!(crate::spec_diff::breaks_c(&old, &new), breaks, "{change}");
    }
}

fn compiles(root: &Path) -> bool {
    let directory = root.join("bindings/c");
    let entries = std::fs::read_dir(directory.join("examples")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-fsyntax-only", "-Werror", "-I"]);
    let output = compiler.arg(directory.join("include")).args(files).output();
    output.unwrap().status.success()
}
