//! Reserved names: words of languages, and names that our own code uses without a path. The latter are read from our
//! sources, headers and templates, so that a new function is reserved automatically.

use crate::error_kind::ErrorKind;
use heck::ToSnakeCase;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// The names that are reserved in a place by our code or a language.
pub(crate) type Reserved = LazyLock<BTreeSet<String>>;

/// Keywords of Rust, including those reserved for later.
const RUST: &str = "\
    abstract as async await become box break const continue crate do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
    self static struct super trait true try type typeof unsafe unsized use virtual where while \
    yield";

/// Keywords of C and C++, and lower-case macros of their standard headers.
const CPP: &str = "\
    alignas alignof alloca and and_eq asm assert auto bitand bitor bool break case catch char char16_t \
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval \
    constexpr constinit continue decltype default delete do double dynamic_cast else enum errno \
    explicit export extern false float for friend goto if inline int linux long mutable \
    namespace new noexcept not not_eq nullptr offsetof operator or or_eq private protected public \
    register reinterpret_cast requires restrict return setjmp short signed sizeof static static_assert \
    static_cast stderr stdin stdout struct switch template this thread_local throw true try \
    typedef typeid typename typeof typeof_unqual union unix unsigned using va_arg va_copy va_end va_start virtual void volatile \
    wchar_t while xor xor_eq";

/// Keywords of Python.
const PYTHON: &str = "\
    False None True and as assert async await break class continue def del elif else except \
    finally for from global if import in is lambda nonlocal not or pass raise return try while \
    with yield";

/// Names that are in scope in Rust without an import.
const PRELUDE: &str = "\
    AsMut AsRef Box Clone Copy Default DoubleEndedIterator Drop Eq Err ExactSizeIterator Extend Fn FnMut FnOnce From \
    FromIterator Into IntoIterator Iterator None Ok Option Ord PartialEq PartialOrd Result Self Send Sized Some String \
    Sync ToOwned ToString TryFrom TryInto Unpin Vec";

/// Variables of generated functions. Arguments must have other names.
const VARIABLES: &str =
    "arguments body call cause client json one options out parameters response_out self";

/// The methods of a client.
pub(crate) static RUST_METHOD: Reserved = LazyLock::new(|| {
    let clients = parts(
        &sources("crates/core/src", "rs"),
        "\nimpl Client {\n",
        "\n}\n",
    );
    set([RUST, "clone", &declared(&clients, 4, "fn")])
});
pub(crate) static CPP_METHOD: Reserved = LazyLock::new(|| {
    let classes =
        ["\nclass client", "\nclass handle"].map(|class| parts(&headers(), class, "\n};"));
    let said = said(&(classes.concat() + &template("service.hpp.j2", "")));
    &*CPP_TYPE | &set([said])
});
pub(crate) static PYTHON_METHOD: Reserved = LazyLock::new(|| {
    let classes = package() + &template("_settings.py.j2", "");
    let names = ["BaseClient", "AsyncClient", "ConfiguredClient"];
    let classes = names.map(|name| parts(&classes, &format!("\nclass {name}"), "\nclass "));
    &*PYTHON_WORD | &set(["property", &declared(&classes.concat(), 4, "def")])
});
/// The fields of a model.
pub(crate) static RUST_FIELD: Reserved = LazyLock::new(|| set([RUST, super::EXTRA_FIELD]));
pub(crate) static PYTHON_FIELD: Reserved = LazyLock::new(|| {
    let record = parts(&package(), "\nclass Record:", "\nclass ");
    &*PYTHON_WORD | &set([declared(&record, 4, "def")])
});
/// The members of a C++ class or struct.
pub(super) static CPP_MEMBER: Reserved = LazyLock::new(|| {
    let record = parts(&headers(), "\nclass record {", "\n};");
    set([CPP, &said(&(record + &template("service.hpp.j2", "")))])
});
/// The arguments for parameters, or for fields of a body, which are the same in every language.
pub(crate) static ARGUMENT: Reserved = LazyLock::new(|| {
    let files = [
        "calls.rs.j2",
        "service.h.j2",
        "service.hpp.j2",
        "_operations.py.j2",
    ];
    let files = files.map(|name| template(name, "for op in operations"));
    let texts = files.concat() + &headers();
    let said = files.map(|text| said(&text)).concat();
    let is_type = |word: &&str| word.ends_with("_t") || word.starts_with("talentdata_");
    let types = words(&texts).filter(is_type);
    set(types.chain([RUST, CPP, PYTHON, VARIABLES, &said]))
});
/// The variants of lists, and of values of open enums.
pub(crate) static LIST_VARIANT: Reserved = LazyLock::new(|| set(["Self"]));
pub(crate) static VALUE: Reserved = LazyLock::new(|| set(["Self Other"]));
/// The commands of the command line, with `_` in place of `-`.
pub(crate) static COMMAND: Reserved = LazyLock::new(|| {
    let commands = parts(
        &code(&read("crates/cli/src/args.rs")),
        "enum Command {",
        "\n}",
    );
    let variants = commands.lines().filter(|line| !line.contains('#'));
    let variants = variants.filter_map(|line| words(line).next());
    set(variants.chain(["help"]).map(ToSnakeCase::to_snake_case))
});
/// The flags that every command has in addition to the settings, and the one for a body.
pub(super) static FLAG: Reserved = LazyLock::new(|| {
    let fields = parts(
        &code(&read("crates/cli/src/args.rs")),
        "struct Cli {",
        "\n}",
    );
    let fields = fields.split("#[arg").skip(1);
    let fields = fields.filter_map(|one| words(one.split_once('\n')?.1).next());
    set(fields.chain(["body", "client_secret_file", "help"]))
});
/// The types next to the models in Rust (in core also those of its module `types`), and those that Python and generated
/// Rust use without a path.
pub(super) static TYPE: Reserved = LazyLock::new(|| {
    let files = [
        "models.rs.j2",
        "operations.rs.j2",
        "_models.py.j2",
        "_operations.py.j2",
    ];
    let types = sources("crates/types/src", "rs");
    let of_core = parts(&read("crates/core/src/lib.rs"), "pub mod types {", "\n}");
    let said =
        files.map(|name| template(name, "")).concat() + &parts(&types, "use ", ";") + &of_core;
    let is_type = |word: &&str| word.starts_with(|first: char| first.is_ascii_uppercase());
    let types = declared(&types, 0, "struct enum type trait");
    let package = declared(&package(), 0, "class");
    let said = words(&said).filter(is_type);
    set(said.chain([PRELUDE, &types, &package]))
});
/// The names in the C++ namespace.
pub(super) static CPP_TYPE: Reserved = LazyLock::new(|| {
    let headers = headers();
    let declared = declared(&headers, 0, "class struct using inline namespace constexpr");
    let exceptions = parts(&headers, "#define TALENTDATA_EXCEPTIONS ", "\n");
    let errors = ErrorKind::ALL.map(|kind| kind.name().to_snake_case() + "_error");
    let exceptions = exceptions.replace("with", " with");
    let used = headers + &template("service.hpp.j2", "");
    let namespaces = used.split("::").filter_map(|text| words(text).last());
    set(namespaces.chain([CPP, &declared, &exceptions, &errors.join(" ")]))
});
/// All names in the headers of C, except those generated from a spec.
pub(crate) static C_NAME: Reserved = LazyLock::new(|| {
    let headers = sources("bindings/c/include", "h") + &headers();
    let is_ours = |word: &&str| word.to_ascii_lowercase().starts_with("talentdata_");
    set(words(&headers).filter(is_ours))
});
/// The ends of names of functions of a C client, after its own name.
pub(super) static C_CLIENT: Reserved = LazyLock::new(|| {
    let names = C_NAME.iter();
    set(names.filter_map(|name| name.strip_prefix("talentdata_client_")))
});
/// Words in annotations of Python.
static PYTHON_WORD: Reserved = LazyLock::new(|| set([PYTHON, "str int float bool list dict"]));

/// Returns the words of all these texts.
fn set(texts: impl IntoIterator<Item = impl AsRef<str>>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for text in texts {
        out.extend(text.as_ref().split_whitespace().map(str::to_owned));
    }
    out
}

fn headers() -> String {
    sources("bindings/c/include", "hpp")
}

fn package() -> String {
    let package = "bindings/python/talentdata";
    sources(package, "pyi") + &sources(package, "py")
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(crate::workspace::root().join(path)).unwrap_or_default()
}

/// Returns the hand-written sources below a directory, concatenated, without comments.
fn sources(directory: impl AsRef<Path>, extension: &str) -> String {
    let entries = std::fs::read_dir(crate::workspace::root().join(directory));
    let paths = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let texts = paths.map(|path| match path.extension() {
        _ if path.is_dir() => sources(path, extension),
        Some(own) if own == extension => read(path),
        _ => String::new(),
    });
    let is_own = |text: &String| {
        let title = text.lines().next().unwrap_or_default();
        !title.contains("from spec/openapi.json; do not edit")
    };
    texts.filter(is_own).map(|text| code(&text)).collect()
}

/// Returns a template after the text `from`, without comments. Of its expressions and statements, only the strings are
/// included.
fn template(name: &str, from: &str) -> String {
    let text = read(format!("xtask/src/templates/{name}"));
    let mut rest = text.split_once(from).map_or("", |(_, rest)| rest);
    let mut out = String::new();
    while let Some((before, inner)) = rest.split_once('{') {
        out += before;
        let end = inner.chars().next().filter(|begin| "{%#".contains(*begin));
        let Some(begin) = end else {
            out.push('{');
            rest = inner;
            continue;
        };
        let end = format!("{}}}", if begin == '{' { '}' } else { begin });
        let (filled, behind) = inner.split_once(&end).unwrap_or((inner, ""));
        // A string in single quotes contains double ones.
        let filled = filled.replace("'\"", "").replace("\"'", "");
        let texts = filled
            .split('"')
            .skip(1)
            .step_by(2)
            .filter(|_| begin != '#');
        out.extend(texts.map(|text| format!(" {text} ")));
        out.push(' ');
        rest = behind;
    }
    code(&(out + rest))
}

/// Returns a text without comments of C, C++ and Rust, and without docstrings of Python.
fn code(text: &str) -> String {
    let text = text.split("\"\"\"").step_by(2).collect::<String>();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let text = lines.map(|line| line.to_owned() + "\n").collect::<String>();
    let mut parts = text.split("/*");
    let mut out = parts.next().unwrap_or_default().to_owned();
    out.extend(parts.map(|part| part.split_once("*/").map_or("", |(_, rest)| rest)));
    out
}

/// Returns the parts of a text that begin with `begin`, each up to `end`.
fn parts(text: &str, begin: &str, end: &str) -> String {
    let parts = text.split(begin).skip(1);
    parts.filter_map(|part| part.split(end).next()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty())
}

/// Returns the names that are declared after these keywords, on lines with this indentation, separated by spaces.
fn declared(text: &str, indent: usize, keywords: &str) -> String {
    const MODIFIERS: &str = "pub crate super async unsafe extern nodiscard";
    let is_among = |word: &str, words: &str| words.split(' ').any(|one| one == word);
    let name = |line: &str| {
        let (spaces, line) = line.split_at_checked(indent)?;
        let is_code = spaces.trim().is_empty() && !line.starts_with(['#', ' ']);
        let mut all = words(line).filter(|word| !is_among(word, MODIFIERS));
        let keyword = all
            .next()
            .filter(|word| is_code && is_among(word, keywords))?;
        // The name of a C++ function is the word before its arguments.
        let function = line
            .split('(')
            .next()
            .and_then(|before| words(before).last());
        let name = if keyword == "inline" {
            function
        } else {
            all.next()
        };
        name.map(str::to_owned)
    };
    text.lines().filter_map(name).collect::<Vec<_>>().join(" ")
}

/// Returns the words that a text uses as functions, types or namespaces without anything before them, and the types
/// that it defines with `using`.
fn said(text: &str) -> String {
    let mut out = String::from(" ");
    let mut before = "";
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
    {
        let (between, behind) = rest.split_at(start);
        let end = behind.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let (word, after) = behind.split_at(end.unwrap_or(behind.len()));
        let is_member =
            between.ends_with(['.', '~']) || between.ends_with("::") || between.ends_with("->");
        let is_said =
            after.starts_with(['(', '<']) || after.starts_with("::") || after.starts_with("!(");
        if before == "using" || is_said && !is_member {
            out += &format!("{word} ");
        }
        (before, rest) = (word, after);
    }
    out
}
