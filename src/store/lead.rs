//! Purpose: a line of callers of whom one works for all that wait: the shape of every group commit here.
//!
//! There is no writer task. Whoever comes while nobody leads, *leads*: it takes what stands in line, its own order among
//! it, deals with all of it at once, and answers each. Then the lead passes to the one who has waited longest, whose line
//! has formed meanwhile.
//!
//! A leader can vanish at any await, because its caller was dropped. Then the lead passes on all the same, and those it
//! worked for see their answer channel close, and stand in line again.
//!
//! Not chosen: to let all of them wait for the lock on the connection. It would pass through the hands of everybody who
//! has been answered, one after the other, before it came to somebody who needs it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

pub(super) struct Line<O, A>(Arc<Mutex<State<O, A>>>);

struct State<O, A> {
    waiting: VecDeque<Waiting<O, A>>,
    /// Somebody leads, or has been told to.
    led: bool,
}

pub(super) struct Waiting<O, A> {
    pub(super) order: Arc<O>,
    answer: oneshot::Sender<Told<O, A>>,
}

/// A caller's place in the line.
pub(super) struct Place<O, A> {
    line: Line<O, A>,
    order: Arc<O>,
    told: oneshot::Receiver<Told<O, A>>,
}

pub(super) enum Told<O, A> {
    Answer(A),
    /// Take orders from the lead and answer them. One's own comes first: it has waited longest.
    Lead(Lead<O, A>),
}

/// The right to lead. Dropped, it passes on.
pub(super) struct Lead<O, A>(Option<Line<O, A>>);

impl<O, A> Clone for Line<O, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<O, A> Default for Line<O, A> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State { waiting: VecDeque::new(), led: false })))
    }
}

impl<O, A> Line<O, A> {
    pub(super) fn stand(&self, order: Arc<O>) -> Place<O, A> {
        let told = self.enter_behind(&order);
        Place { line: self.clone(), order, told }
    }

    fn enter_behind(&self, order: &Arc<O>) -> oneshot::Receiver<Told<O, A>> {
        let (answer, told) = oneshot::channel();
        let mut state = self.lock();
        state.waiting.push_back(Waiting { order: Arc::clone(order), answer });
        let somebody_leads = std::mem::replace(&mut state.led, true);
        drop(state);
        if !somebody_leads {
            self.pass_on();
        }
        told
    }

    fn enter_in_front(&self, order: &Arc<O>) -> oneshot::Receiver<Told<O, A>> {
        let (answer, told) = oneshot::channel();
        self.lock().waiting.push_front(Waiting { order: Arc::clone(order), answer });
        told
    }

    /// To the first in line who is still there.
    fn pass_on(&self) {
        loop {
            let mut state = self.lock();
            let Some(next) = state.waiting.pop_front() else {
                state.led = false;
                return;
            };
            drop(state);
            match next.answer.send(Told::Lead(Lead(Some(self.clone())))) {
                Err(Told::Lead(mut lead)) => drop(lead.0.take()),
                Ok(()) | Err(Told::Answer(_)) => return,
            }
        }
    }

    /// Changes are single steps, so whoever died with the lock left the line whole.
    fn lock(&self) -> MutexGuard<'_, State<O, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O, A> Place<O, A> {
    /// Waits for the answer, or to be told to lead; then the answer comes after that.
    pub(super) async fn told(&mut self) -> Told<O, A> {
        loop {
            match (&mut self.told).await {
                Ok(Told::Answer(answer)) => return Told::Answer(answer),
                Ok(Told::Lead(lead)) => {
                    self.told = self.line.enter_in_front(&self.order);
                    return Told::Lead(lead);
                }
                Err(_leader_vanished) => self.told = self.line.enter_behind(&self.order),
            }
        }
    }
}

impl<O, A> Lead<O, A> {
    /// Takes orders from the front of the line for as long as `fits` says so, but at least one.
    pub(super) fn take(&self, mut fits: impl FnMut(&O) -> bool) -> Vec<Waiting<O, A>> {
        let Some(line) = &self.0 else { return vec![] };
        let mut state = line.lock();
        let count = state.waiting.iter().take_while(|waiting| fits(&waiting.order)).count();
        let count = count.max(1).min(state.waiting.len());
        state.waiting.drain(..count).collect()
    }
}

impl<O, A> Drop for Lead<O, A> {
    fn drop(&mut self) {
        if let Some(line) = self.0.take() {
            line.pass_on();
        }
    }
}

impl<O, A> Waiting<O, A> {
    /// Whoever has gone away misses the answer.
    pub(super) fn answer(self, answer: A) {
        let _ = self.answer.send(Told::Answer(answer));
    }

    pub(super) fn is_gone(&self) -> bool {
        self.answer.is_closed()
    }
}
