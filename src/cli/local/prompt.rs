//! Purpose: listening to the person at the keyboard, without holding up anything else.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use tokio::sync::mpsc;

/// After this long without a word, skipping is offered.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

pub(in crate::cli) struct Prompt {
    lines: mpsc::UnboundedReceiver<String>,
    patience: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Heard {
    Line(String),
    /// Nothing for as long as patience lasts.
    Silence,
    /// What was asked about has moved on.
    Moved,
    /// There is nobody at the keyboard any more.
    Gone,
}

impl Prompt {
    /// Reads standard input in a thread of its own: a read cannot be called off, and ends with the process.
    pub(in crate::cli) fn at_keyboard() -> Self {
        let (send, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines, patience: PATIENCE }
    }

    /// Shows where to write. What was typed before cannot be meant for what is asked now.
    pub(in crate::cli) fn invite(&mut self, hint: &str) {
        while self.lines.try_recv().is_ok() {}
        let mut out = std::io::stdout();
        let _ = write!(out, "{hint} > ").and_then(|()| out.flush());
    }

    pub(in crate::cli) async fn hear(&mut self, moved: impl Future<Output = ()>) -> Heard {
        tokio::select! {
            line = self.lines.recv() => line.map_or(Heard::Gone, Heard::Line),
            () = tokio::time::sleep(self.patience) => Heard::Silence,
            () = moved => Heard::Moved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(patience: Duration) -> (mpsc::UnboundedSender<String>, Prompt) {
        let (send, lines) = mpsc::unbounded_channel();
        (send, Prompt { lines, patience })
    }

    #[tokio::test]
    async fn people_are_heard_and_waited_for_five_minutes() {
        assert_eq!(PATIENCE, Duration::from_secs(300));
        let (keyboard, mut prompt) = prompt(Duration::from_millis(20));
        assert_eq!(prompt.hear(std::future::pending()).await, Heard::Silence);
        keyboard.send("typed too early".to_owned()).unwrap();
        prompt.invite("");
        assert_eq!(prompt.hear(std::future::ready(())).await, Heard::Moved);
        keyboard.send("a".to_owned()).unwrap();
        assert_eq!(prompt.hear(std::future::pending()).await, Heard::Line("a".to_owned()));
        drop(keyboard);
        assert_eq!(prompt.hear(std::future::pending()).await, Heard::Gone);
    }
}
