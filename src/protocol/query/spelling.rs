//! How messages spell parameters: as they stand in a URL, as arguments of the client, or as options of the command line.

use std::sync::atomic::{AtomicBool, Ordering};

use super::points::PARAMETERS;

/// How a refusal spells parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// As in a URL: `rawSymbol`.
    Wire,
    /// As arguments of the client: `symbol`, `block_size=`.
    Arguments,
    /// As options of the command line: `SYMBOL`, `--block-size`.
    Options,
}

/// Whether this process is a command line. Read by messages only.
static COMMAND_LINE: AtomicBool = AtomicBool::new(false);

/// Makes the messages of this process name options of the command line instead of arguments of the client. Returns whether
/// they did before.
pub fn speak_of_options(options: bool) -> bool {
    COMMAND_LINE.swap(options, Ordering::Relaxed)
}

impl Spelling {
    /// How the user of the client in this process writes parameters: as arguments or as options.
    #[must_use]
    pub fn caller() -> Self {
        if COMMAND_LINE.load(Ordering::Relaxed) { Self::Options } else { Self::Arguments }
    }

    /// The name alone, by the parameter's name in a URL: `blockSize`, `block_size`, `--block-size`.
    #[must_use]
    pub fn bare(self, wire: &str) -> String {
        let name = self.parameter(wire);
        name.strip_suffix('=').map(str::to_owned).unwrap_or(name)
    }

    /// A parameter by its name in a URL.
    #[must_use]
    pub fn parameter(self, wire: &str) -> String {
        match self {
            Self::Wire => wire.to_owned(),
            _ => self.argument(&argument_of(wire)),
        }
    }

    /// An argument of the client: `block_size=`, `--block-size`.
    #[must_use]
    pub fn argument(self, name: &str) -> String {
        match (self, name) {
            // These are given by their place.
            (Self::Options, "type" | "exchange" | "symbol") => name.to_uppercase(),
            (_, "type" | "exchange" | "symbol") => name.to_owned(),
            (Self::Options, _) => format!("--{}", name.replace('_', "-")),
            (_, _) => format!("{name}="),
        }
    }

    /// An argument with its value: `block_size=3`, `--block-size=3`.
    #[must_use]
    pub fn given(self, name: &str, value: impl std::fmt::Display) -> String {
        format!("{}={value}", self.argument(name).trim_end_matches('='))
    }

    /// How to leave a parameter out, by its name in a URL. On a command line something stands in the place of what has one.
    #[must_use]
    pub fn without(self, wire: &str) -> String {
        let name = self.parameter(wire);
        match (self, argument_of(wire).as_str()) {
            (Self::Options, "exchange" | "symbol") => format!("write - for {name}"),
            _ => format!("leave {name} out"),
        }
    }

    /// A switch that is turned: `check_symbols=False`, `--no-check-symbols`.
    #[must_use]
    pub fn switch(self, name: &str, on: bool) -> String {
        match (self, on) {
            (Self::Options, true) => self.argument(name),
            (Self::Options, false) => self.argument(&format!("no_{name}")),
            (_, true) => self.given(name, "True"),
            (_, false) => self.given(name, "False"),
        }
    }

    /// A call that the client and the command line share: `client.plan(…)`, `` `marketpoints plan` ``.
    #[must_use]
    pub fn method(self, name: &str) -> String {
        match self {
            Self::Options => format!("`marketpoints {name}`"),
            _ => format!("client.{name}(…)"),
        }
    }

    /// A setting of the client that also a variable of the environment gives, which is all that a command line has.
    #[must_use]
    pub fn setting(self, argument: &str, variable: &str) -> String {
        match self {
            Self::Options => variable.to_owned(),
            _ => format!("{} or {variable}", self.argument(argument)),
        }
    }
}

/// The client's argument for a parameter: that of the table, or else the parameter in lower case with underscores.
#[must_use]
pub fn argument_of(wire: &str) -> String {
    if let Some(argument) = PARAMETERS.iter().find(|row| row.wire == wire).and_then(|row| row.argument) {
        return argument.to_owned();
    }
    let mut name = String::with_capacity(wire.len() + 4);
    for letter in wire.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_who_asks_reads_what_he_writes() {
        let spelled = |spelling: Spelling| {
            ["rawSymbol", "blockSize", "transform.groupBy.type", "userWallet"].map(|wire| spelling.parameter(wire))
        };
        assert_eq!(spelled(Spelling::Wire), ["rawSymbol", "blockSize", "transform.groupBy.type", "userWallet"]);
        assert_eq!(spelled(Spelling::Arguments), ["symbol", "block_size=", "group_by=", "user_wallet="]);
        assert_eq!(spelled(Spelling::Options), ["SYMBOL", "--block-size", "--group-by", "--user-wallet"]);
    }

    #[test]
    fn what_has_a_place_on_the_command_line_is_left_out_by_a_dash() {
        let without = |spelling: Spelling| ["exchange", "rawSymbol", "blockSize"].map(|wire| spelling.without(wire));
        assert_eq!(without(Spelling::Wire), ["leave exchange out", "leave rawSymbol out", "leave blockSize out"]);
        assert_eq!(without(Spelling::Arguments), ["leave exchange out", "leave symbol out", "leave block_size= out"]);
        assert_eq!(
            without(Spelling::Options),
            ["write - for EXCHANGE", "write - for SYMBOL", "leave --block-size out"]
        );
    }

    #[test]
    fn values_and_switches_are_spelled_with_their_names() {
        assert_eq!(Spelling::Arguments.given("block_size", 3), "block_size=3");
        assert_eq!(Spelling::Options.given("block_size", 3), "--block-size=3");
        let switched = |spelling: Spelling| (spelling.switch("checks", false), spelling.switch("checks", true));
        assert_eq!(switched(Spelling::Arguments), ("checks=False".to_owned(), "checks=True".to_owned()));
        assert_eq!(switched(Spelling::Options), ("--no-checks".to_owned(), "--checks".to_owned()));
        assert_eq!(Spelling::Arguments.setting("api_key", "KEY"), "api_key= or KEY");
        assert_eq!(Spelling::Options.setting("api_key", "KEY"), "KEY");
    }
}
