//! Translates errors of the library, which name parameters, into flags of the command.

use cenote::Error;

/// Parameters in the library's messages, and their flags.
const FLAGS: [(&str, &str); 10] = [
    ("without `migration`", "with --no-migration"),
    ("search in lexicographic order", "add --order lexicographic"),
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
        Some(Error::MemoryBudget { suggested, .. }) => {
            let hint = format!("{suggested}MiB as `memory`");
            message.replace(&hint, &format!("--memory {suggested}MiB"))
        }
        Some(Error::Parameter { parameter, reason }) => {
            format!("--{} {}", parameter.replace('_', "-"), replace_all(reason.clone()))
        }
        Some(_) => replace_all(message),
    }
}

fn replace_all(message: String) -> String {
    FLAGS.iter().fold(message, |message, (parameter, flag)| message.replace(parameter, flag))
}
