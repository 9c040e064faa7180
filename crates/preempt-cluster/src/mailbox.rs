//! Letters between workers, apart from the states: orders of the first worker, numbers for it, reasons to stop.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use timely::dataflow::InputHandle;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Input;
use timely::dataflow::operators::generic::operator::Operator;
use timely::worker::Worker;

/// What a letter is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum About {
    /// How far a worker is, for the first one.
    Progress,
    /// All workers stop.
    Stop,
    /// What a worker found, or what a pass left, for the first one.
    Found,
    /// A worker has written its part of a checkpoint, for the first one.
    Saved,
    /// The checkpoint is done: all workers go on.
    GoOn,
    /// An order of the first one.
    Order,
    /// The answer to an order.
    Answer,
}

/// A letter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Letter {
    to: u64,
    pub(crate) from: u64,
    /// Which pass it belongs to.
    pub(crate) pass: u64,
    pub(crate) about: About,
    #[serde(with = "serde_bytes")]
    pub(crate) bytes: Vec<u8>,
}

/// A worker's letters.
pub(crate) struct Mailbox {
    input: Option<InputHandle<u64, timely::container::CapacityContainerBuilder<Vec<Letter>>>>,
    arrived: Rc<RefCell<VecDeque<Letter>>>,
    me: u64,
    peers: u64,
}

impl Mailbox {
    /// Adds the dataflow to a worker; all workers do so at the same point.
    pub(crate) fn new(worker: &mut Worker) -> Self {
        let arrived = Rc::new(RefCell::new(VecDeque::new()));
        let shared = arrived.clone();
        let input = worker.dataflow::<u64, _, _>(|scope| {
            let (input, stream) = scope.new_input::<Vec<Letter>>();
            stream.sink(
                Exchange::new(|letter: &Letter| letter.to),
                "letters",
                move |(input, _)| {
                    input.for_each(|_, letters| shared.borrow_mut().extend(letters.drain(..)));
                },
            );
            input
        });
        let (me, peers) = (worker.index() as u64, worker.peers() as u64);
        Mailbox { input: Some(input), arrived, me, peers }
    }

    pub(crate) fn send(&mut self, to: usize, pass: u64, about: About, bytes: Vec<u8>) {
        let letter = Letter { to: to as u64, from: self.me, pass, about, bytes };
        if let Some(input) = &mut self.input {
            input.send(letter);
            // Only the end of a time makes the dataflow pass letters on.
            let next = input.time() + 1;
            input.advance_to(next);
        }
    }

    /// To all other workers.
    pub(crate) fn send_all(&mut self, pass: u64, about: About, bytes: &[u8]) {
        let me = self.me;
        for to in (0..self.peers as usize).filter(|to| *to as u64 != me) {
            self.send(to, pass, about, bytes.to_vec());
        }
    }

    pub(crate) fn receive(&self) -> Option<Letter> {
        self.arrived.borrow_mut().pop_front()
    }

    /// Nothing more will be sent.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }
}
