//! Purpose: the webhook of the local forge: an event, signed and sent to our own door as a forge sends it.

use anyhow::Context as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::Event;

pub(super) struct Hook {
    http: reqwest::Client,
    url: String,
    secret: String,
}

impl Hook {
    pub(super) fn new(url: String, secret: String) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().build().context("cannot build an HTTP client")?;
        Ok(Self { http, url, secret })
    }

    /// Sends an event under the name of its delivery, and returns the status that came back.
    pub(super) async fn send(&self, event: &Event, id: &str) -> anyhow::Result<u16> {
        let body = serde_json::to_vec(event)?;
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).context("the secret cannot be used")?;
        mac.update(&body);
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let request = self.http.post(&self.url).header("x-planwright-delivery", id);
        let answer = request.header("x-hub-signature-256", signature).body(body).send().await;
        Ok(answer.context("the server did not answer")?.status().as_u16())
    }
}
