//! Purpose: typed questions to a model: question → prompt text and JSON schema; text → typed answer.
//!
//! An [`Ask`] is what the run wants to know; [`prompt()`] writes it for a language model, [`read_answer`] turns what came
//! back into an [`Answer`] or says what is wrong with it in a sentence that the model can act on. Text from people is
//! shown as people see it ([`visible_text`]), wrapped as data and capped in size.
//!
//! Reading order: `ask` has the questions and answers; `prompt` writes with `tasks` (what to do), `context` (the
//! thread), `told` (what has been said, decided and tried), `work` (what is done about it) and `enhanced` (the request with all that); `wire` is the
//! shape of an answer in JSON, `extract` finds that JSON in what a model said, `read` checks it, with `read_talk` for
//! talk with people, `read_replan` for changes of the plan, `read_turn` for work and `read_crew` for what the crew says
//! about it. `visible` and `invisible` are about what people see.

mod ask;
mod context;
mod enhanced;
mod extract;
mod html;
mod invisible;
mod prompt;
mod read;
mod read_crew;
mod read_replan;
mod read_talk;
mod read_turn;
mod schema;
mod tasks;
mod told;
mod usage;
mod visible;
mod wire;
mod wire_crew;
mod wire_replan;
mod wire_talk;
mod work;

pub use ask::{
    Answer, Ask, Context, Decide, DifficultyTask, JudgeTask, JudgedAction, Moment, Remark, Task, Told,
};
pub use context::hidden_in;
pub use enhanced::enhanced_instruction;
pub use invisible::{is_invisible, plain_text};
pub use prompt::{Prompt, prompt, repair_prompt};
pub use read::{Unreadable, read_answer};
pub use usage::Usage;
pub use visible::{Visible, visible_text};
pub use work::MAX_DOCUMENT;

#[cfg(test)]
mod samples;
