//! Reserved names: words that languages, and our own hand-written code, have for themselves.

/// Keywords of Rust, also those kept for later.
pub(super) const RUST: &str = "\
    abstract as async await become box break const continue crate do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
    self static struct super trait true try type typeof unsafe unsized use virtual where while \
    yield";

/// Keywords of C and C++, and lower-case macros of their standard headers.
pub(super) const CPP: &str = "\
    alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char char16_t \
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval \
    constexpr constinit continue decltype default delete do double dynamic_cast else enum errno \
    explicit export extern false float for friend goto if inline int linux long mutable \
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public \
    register reinterpret_cast requires restrict return short signed sizeof static static_assert \
    static_cast stderr stdin stdout struct switch template this thread_local throw true try \
    typedef typeid typename union unix unsigned using virtual void volatile wchar_t while xor \
    xor_eq";

/// What every generated C++ class has, or says within itself.
pub(super) const CPP_MEMBERS: &str =
    "get json kind raw_ raw_type record result shared try_get within";

/// Keywords of Python.
pub(super) const PYTHON: &str = "\
    False None True and as assert async await break class continue def del elif else except \
    finally for from global if import in is lambda nonlocal not or pass raise return try while \
    with yield";

/// Attributes that every record has of its own.
pub(super) const PYTHON_MEMBERS: &str = "json extra to_dict get keys values items";

/// What the class of the lists uses.
pub(super) const PYTHON_LISTS: &str = "property";

/// What functions of a C client have behind its name.
pub(super) const C_CLIENT: &str = "\
    call close export free from_environment list new page plan schema sync";

/// What a C++ client has of its own.
pub(super) const CPP_CLIENT: &str = "\
    call client close export_job get given_ handle list options page plan raw_ raw_type release \
    schema self sync_job try_call try_export_job try_list try_make try_page try_plan try_schema \
    try_sync_job with";

/// The commands that are no operation.
pub(super) const COMMANDS: &str = "\
    budget changes completions export forget help page plan resources sandbox schema sync verify";

/// Flags that every command has beside the settings, and the one for a body.
pub(super) const FLAGS: &str = "body client_secret_file help sandbox verbose";

/// Arguments that calls have of their own, and names that their code says.
pub(super) const ARGUMENTS: &str =
    "arguments body call cause client json one options out parameters response_out self";

/// Types that stand beside the models, in Rust and in C, and those that generated Rust says without a path.
pub(super) const TYPES: &str = "\
    Arrival Box Client ClientHandle Config ConfigHandle Err Errno Error ErrorHandle ErrorKind ErrorKindNumber Field \
    FieldKind Format FormatNumber From Job JobHandle KeptError Known ListName ListShape Location LogCallback \
    LogLevel LogLevelNumber LogSink MaybeUninit Method Mirror MirrorHandle None Ok Open Operation Option \
    OptionalBoolean OptionalInteger OptionalNumber Options OptionsHandle Parameter Record RecordHandle ReleaseCallback \
    RequestBody Result Scan ScanHandle Secret Self SelfPipe Sink Some String Text TokenUse Typed \
    UserData ValueKind Vec Work";

/// Methods of a Rust client.
pub(super) const RUST_CLIENT: &str = "\
    attempt attempts budget builder call clone close closed config engine fetch_page fetch_token \
    invoke invoke_as invoke_without new plan request resource run send \
    with_config with_queue with_thread_start";

/// Names in the C++ namespace, apart from the exceptions.
pub(super) const CPP_NAMESPACE: &str = "\
    any_field client config copied detail done error error_of handle is_map is_optional is_struct \
    job library_version list_name list_of log_function made mirror named_values nothing \
    number_text options page quoted raw_json reader receipt record result scalar_reader scan \
    talentdata text to_json try_verify value_text verify with_exceptions without_exceptions";

/// Attributes of a Python client.
pub(super) const PYTHON_CLIENT: &str = "\
    __aenter__ __aexit__ __enter__ __exit__ __new__ __reduce__ _awaited _budget _call _close _defect \
    _names _page _plan _schema base_url budget_state client_id close closed export sync with_options";

/// Names that `import talentdata` gives, apart from the exceptions.
pub(super) const PYTHON_PACKAGE: &str = "\
    Any AsyncClient AsyncList AsyncScan Basis BudgetState BudgetUse ChangeCounts Client \
    Completeness Difference Doubt Error Example False Field FileCheck IncompleteWarning List \
    MemberStats Mirror MirrorReceipt None OpenEnum Page Plan Receipt Record Removed Rows \
    RowsReceipt Sandbox Scan ScanReceipt SchemaDifferences SyncReceipt True Verification Withheld Written \
    __version__ scan_polars verify";
