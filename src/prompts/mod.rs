//! Purpose: typed questions to a model: question → prompt text and JSON schema; text → typed answer.
//!
//! An [`Ask`] is what the run wants to know; [`prompt`] writes it for a language model, [`read_answer`] turns what came
//! back into an [`Answer`] or says what is wrong with it in a sentence that the model can act on. Text from people is
//! shown as people see it ([`visible_text`]), wrapped as data and capped in size.
//!
//! Reading order: `ask` has the questions and answers, `prompt` and `context` write, `wire` is the shape of an answer
//! in JSON, `extract` finds that JSON in what a model said, `read` checks it. `visible` and `invisible` are about what
//! people see.

mod ask;
mod context;
mod extract;
mod html;
mod invisible;
mod prompt;
mod read;
mod read_turn;
mod schema;
mod usage;
mod visible;
mod wire;

pub use ask::{Answer, Ask, Context, Decide, Moment, Remark, Task, Told};
pub use context::hidden_in;
pub use invisible::{is_invisible, plain_text};
pub use prompt::{Prompt, prompt, repair_prompt};
pub use read::{Unreadable, read_answer};
pub use usage::Usage;
pub use visible::{Visible, visible_text};
