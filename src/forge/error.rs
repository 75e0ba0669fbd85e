//! Purpose: what may go wrong with a forge, in the few kinds a caller branches on.

use std::fmt::Display;
use std::time::Duration;

/// Each carries a plain sentence: what we were doing and why it did not work. Never a credential, never a whole answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// Nothing happened; it may be asked again after this time.
    #[error("{why}; it may be asked again in {} s", retry_after.as_secs().max(1))]
    RateLimited { retry_after: Duration, why: String },
    /// The credentials are wrong, expired or revoked.
    #[error("{0}")]
    Unauthorized(String),
    /// The credentials are good and do not suffice.
    #[error("{0}")]
    Forbidden(String),
    /// It does not exist, or we may not see it.
    #[error("{0}")]
    NotFound(String),
    /// The forge understood and refused what we sent.
    #[error("{0}")]
    Invalid(String),
    /// Server error, time-out or cut connection: it may have happened.
    #[error("{0}")]
    Unclear(String),
    /// The answer was not understood.
    #[error("{0}")]
    Broken(String),
}

impl ForgeError {
    /// One plain sentence for the thread: what happened and what to do. It never quotes the forge.
    #[must_use]
    pub fn for_people(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => {
                "The forge has had too many requests from me and wants a pause; nobody has to do anything."
            }
            Self::Unauthorized(_) => {
                "The forge does not accept my credentials. An operator should check the token or the key of the App."
            }
            Self::Forbidden(_) => {
                "The forge does not let me do what I need to do here. An operator should check what my account may do in \
                 this repository."
            }
            Self::NotFound(_) => {
                "The forge does not find what I need here: it was moved or deleted, or my account may not see it. Whoever \
                 manages this repository should check that I have access."
            }
            Self::Invalid(_) => {
                "The forge refused what I sent. An operator finds its reason in the log of my server."
            }
            Self::Unclear(_) => {
                "The forge cannot be reached at the moment; if that lasts, an operator should look at it."
            }
            Self::Broken(_) => {
                "The forge sent an answer that I do not understand. An operator should check its address in the settings."
            }
        }
    }

    /// Puts "cannot … :" in front of the reason.
    #[must_use]
    pub(crate) fn while_doing(self, doing: impl Display) -> Self {
        self.map(|why| format!("cannot {doing}: {why}"))
    }

    /// A write whose answer was not understood may have happened.
    #[must_use]
    pub(crate) fn into_unclear(self) -> Self {
        match self {
            Self::Broken(why) => Self::Unclear(why),
            Self::RateLimited { .. }
            | Self::Unauthorized(_)
            | Self::Forbidden(_)
            | Self::NotFound(_)
            | Self::Invalid(_)
            | Self::Unclear(_) => self,
        }
    }

    fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::RateLimited { retry_after, why } => Self::RateLimited { retry_after, why: change(why) },
            Self::Unauthorized(why) => Self::Unauthorized(change(why)),
            Self::Forbidden(why) => Self::Forbidden(change(why)),
            Self::NotFound(why) => Self::NotFound(change(why)),
            Self::Invalid(why) => Self::Invalid(change(why)),
            Self::Unclear(why) => Self::Unclear(change(why)),
            Self::Broken(why) => Self::Broken(change(why)),
        }
    }
}
