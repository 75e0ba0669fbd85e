//! Purpose: who sits at the terminal, or calls from a script: how they are told, and what they say by themselves.

use std::io::IsTerminal as _;
use std::path::Path;

use super::super::out::shell_word;
use super::face::{Face, Kind};
use super::prompt::Prompt;
use super::sheet::Sheet;

pub(in crate::cli) struct Guest {
    pub face: Face,
    pub sheet: Sheet,
    pub prompt: Option<Prompt>,
    /// What commands need to find the same settings.
    pub config_option: String,
}

impl Guest {
    /// # Errors
    /// When the file of answers cannot be read.
    pub(in crate::cli) fn new(
        json: bool,
        answers: Option<&Path>,
        config: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let sheet = answers.map(Sheet::read).transpose()?.unwrap_or_default();
        let face = Face::new(if json { Kind::Json } else { Kind::Text });
        let terminal = !json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let prompt = terminal.then(Prompt::at_keyboard);
        let config_option = config.map_or(String::new(), |path| format!(" --config {}", shell_word(path)));
        Ok(Self { face, sheet, prompt, config_option })
    }
}
