//! `navtree completions`: writes shell completions of commands and options, generated from their declarations.

use clap::CommandFactory;
use clap_complete::{Generator, Shell};

use super::Exit;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Shell to write completions for.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    super::out(&text(arguments.shell));
    Exit::Success
}

fn text(shell: impl Generator) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::Arguments::command(), "navtree", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_every_command_and_option() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = text(shell);
            for command in super::super::Arguments::command().get_subcommands() {
                assert!(
                    text.contains(command.get_name()),
                    "{shell}: {}",
                    command.get_name()
                );
                for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                    assert!(text.contains(option), "{shell}: --{option}");
                }
            }
        }
    }
}
