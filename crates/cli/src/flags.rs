//! Translates errors of the library, which name parameters, into flags of the command.

use cenote::Error;

/// Parameters in the library's messages, and their flags.
const FLAGS: [(&str, &str); 20] = [
    ("without `migration`", "with --no-migration"),
    ("search in lexicographic order", "add --order lexicographic"),
    ("import it as undirected", "import with --undirected"),
    ("use the `strategy` auto", "use --strategy auto"),
    ("`format`", "--format"),
    ("`ids`", "--ids"),
    ("`source_column`", "--source-column"),
    ("`target_column`", "--target-column"),
    ("`weight_column`", "--weight-column"),
    ("`keep_duplicates`", "--keep-duplicates"),
    ("`weighted`", "--weighted"),
    ("`weights`", "--weights"),
    ("`hub_neighbours`", "--hub-neighbours"),
    ("`in_edges`", "--in-edges"),
    ("`memory`", "--memory"),
    ("`out`", "--out"),
    ("`overwrite`", "--overwrite"),
    ("`target`", "--target"),
    ("`temp_dir`", "--temp-dir"),
    ("`threads`", "--threads"),
];

/// The message of an error, with flags in place of parameters.
pub fn in_flags(cause: &(dyn std::error::Error + 'static)) -> String {
    let message = cause.to_string();
    match cause.downcast_ref::<Error>() {
        // Ids are the user's words.
        None | Some(Error::UnknownVertex { .. }) => message,
        Some(Error::MemoryBudget { .. }) => with_budgets(&message),
        Some(Error::Parameter { parameter, reason }) => {
            format!("--{} {}", parameter.replace('_', "-"), replace_all(reason.clone()))
        }
        Some(_) => replace_all(message),
    }
}

/// A text with `--memory SIZE` in place of SIZE as a parameter.
pub fn with_budgets(text: &str) -> String {
    let mut parts: Vec<_> = text.split(" as `memory`").map(str::to_owned).collect();
    let advices = parts.len() - 1;
    for part in &mut parts[..advices] {
        let size = part.rfind(' ').map_or(0, |space| space + 1);
        part.insert_str(size, "--memory ");
    }
    parts.concat()
}

fn replace_all(message: String) -> String {
    FLAGS.iter().fold(message, |message, (parameter, flag)| message.replace(parameter, flag))
}
