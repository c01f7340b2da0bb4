//! Tests of the names that are read from our own code. Without them, generated code would not compile.

use super::*;

#[test]
fn names_of_hand_written_code_are_reserved() {
    let rows: [(&Reserved, &str); 11] = [
        (&RUST_METHOD, "type with_config invoke builder clone"),
        (
            &CPP_METHOD,
            "class try_export_job options close call record",
        ),
        (
            &PYTHON_METHOD,
            "import with_options budget_state property str list __aenter__",
        ),
        (&RUST_FIELD, "self extra"),
        (&PYTHON_FIELD, "lambda to_dict keys str int dict"),
        (
            &CPP_MEMBER,
            "errno get within shared raw_type write_json result",
        ),
        (
            &ARGUMENT,
            "class self body parameters_text to_json talentdata_options_new talentdata_text size_t",
        ),
        (&COMMAND, "export help sandbox completions"),
        (&FLAG, "body help sandbox verbose"),
        (
            &TYPE,
            "Vec Operation Schema Mapping Operations ConfiguredClient AsyncClient Field",
        ),
        (
            &CPP_TYPE,
            "record list_of reader options config_error raw_json client std talentdata",
        ),
    ];
    for (reserved, names) in rows {
        let lacking = names.split(' ').find(|name| !reserved.contains(*name));
        assert_eq!(lacking, None, "of {names}");
    }
    for name in
        "talentdata_error_code talentdata_text TALENTDATA_ERROR_KIND_CONFIG talentdata_typed_add"
            .split(' ')
    {
        assert!(C_NAME.contains(name), "{name}");
    }
    // Of a generated function there is nothing to be kept away from.
    assert!(!C_NAME.contains("talentdata_contact_email"));
    assert!(!TYPE.contains("Other") && !TYPE.contains("The"));
    assert!(!ARGUMENT.contains("name") && !ARGUMENT.contains("required"));
}
