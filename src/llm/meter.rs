//! Purpose: count what answering a question takes, whether it succeeds or not.

use tokio::time::Instant;

use super::Price;
use crate::prompts::Usage;

pub(super) struct Meter {
    started: Instant,
    price: Option<Price>,
    usage: Usage,
    /// A reply did not say what it used, so the cost is not known.
    in_the_dark: bool,
}

impl Meter {
    pub(super) fn start(model: &str, price: Option<Price>) -> Self {
        let usage = Usage { model: model.to_owned(), ..Usage::default() };
        Self { started: Instant::now(), price, usage, in_the_dark: false }
    }

    pub(super) fn call(&mut self) {
        self.usage.calls += 1;
    }

    pub(super) fn tokens(&mut self, used: Option<(u64, u64)>) {
        let Some((input, output)) = used else {
            self.in_the_dark = true;
            return;
        };
        self.usage.input_tokens = self.usage.input_tokens.saturating_add(input);
        self.usage.output_tokens = self.usage.output_tokens.saturating_add(output);
    }

    pub(super) fn usage(self) -> Usage {
        let Usage { input_tokens, output_tokens, .. } = self.usage;
        let cost = self.price.filter(|_| !self.in_the_dark).map(|price| {
            let parts = u128::from(input_tokens) * u128::from(price.input)
                + u128::from(output_tokens) * u128::from(price.output);
            // Rounded up: a budget must not be exceeded by what was rounded away.
            u64::try_from(parts.div_ceil(1_000_000)).unwrap_or(u64::MAX)
        });
        let ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Usage { cost_micro_usd: cost, ms, ..self.usage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(price: Option<Price>, used: &[Option<(u64, u64)>]) -> Option<u64> {
        let mut meter = Meter::start("m", price);
        for tokens in used {
            meter.tokens(*tokens);
        }
        meter.usage().cost_micro_usd
    }

    #[test]
    fn costs_are_added_up() {
        let price = Some(Price { input: 2_500_000, output: 10_000_000 });
        assert_eq!(cost(price, &[]), Some(0));
        assert_eq!(cost(price, &[Some((1_000, 100)), Some((1, 0))]), Some(3_503));
        assert_eq!(cost(price, &[Some((1_000, 100)), None]), None, "an unknown part makes the whole unknown");
        assert_eq!(cost(None, &[Some((1, 1))]), None);
        assert_eq!(cost(price, &[Some((u64::MAX, u64::MAX))]), Some(u64::MAX));
    }
}
