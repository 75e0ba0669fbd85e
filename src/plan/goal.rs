//! Purpose: what the requester wants, as the bot understood it.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    pub main_objective: String,
    pub success_criteria: Vec<String>,
    pub constraints: Vec<String>,
    pub context: String,
    /// Whether choices remain that people should make before the work is cut into steps.
    pub design_choices_open: bool,
}
