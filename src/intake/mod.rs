//! Purpose: …

mod github;
mod gitlab;
mod gitlab_payload;
pub mod translate;
