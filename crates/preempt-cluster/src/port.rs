//! The part of a dataflow that a worker sees: what has arrived, what is to be sent, and when everything of a time has
//! arrived.
//!
//! The dataflow is a loop of one operator: batches go to the worker they are for, and come out of the loop one round
//! later. Timely knows which times are still possible; that is all the protocol there is for the end of a level, of a
//! bucket of preemptions and of the search. The search itself is not inside the operator, which may hold nothing borrowed:
//! the worker's own loop takes batches out of the port and puts batches in.

use preempt_partitioned::Time;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::{Capability, ConnectLoop, Feedback};
use timely::scheduling::Activator;
use timely::worker::Worker;

/// A batch on its way.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Parcel {
    to: u64,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
}

/// What the operator and the worker share.
struct Inside {
    /// What has arrived.
    arrived: Vec<(Time, Vec<u8>)>,
    /// What is to be sent, at the time of the capability.
    waiting: Vec<Parcel>,
    /// The permission to send at the least time of what this worker will still expand.
    capability: Option<Capability<u64>>,
    /// The least time at which something may still arrive; `None` at the end of everything.
    frontier: Option<u64>,
}

/// A worker's end of the dataflow.
pub(crate) struct Port {
    inside: Rc<RefCell<Inside>>,
    activator: Activator,
}

impl Port {
    /// Adds the dataflow to a worker; all workers do so at the same point.
    pub(crate) fn new(worker: &mut Worker) -> Self {
        let inside = Rc::new(RefCell::new(Inside {
            arrived: Vec::new(),
            waiting: Vec::new(),
            capability: None,
            frontier: Some(0),
        }));
        let shared = inside.clone();
        let activator = worker.dataflow::<u64, _, _>(|scope| {
            let (handle, stream) = scope.feedback::<Vec<Parcel>>(1);
            let mut activator = None;
            let sent = stream.unary_frontier(
                Exchange::new(|parcel: &Parcel| parcel.to),
                "states",
                |capability, info| {
                    activator = Some(scope.activator_for(info.address));
                    shared.borrow_mut().capability = Some(capability);
                    move |(input, frontier), output| {
                        let inside = &mut *shared.borrow_mut();
                        input.for_each_time(|time, parcels| {
                            let number = *time.time();
                            if inside.capability.as_ref().is_none_or(|own| *own.time() > number) {
                                inside.capability = Some(time.retain(output.output_index()));
                            }
                            let parcels = parcels.flat_map(|parcels| parcels.drain(..));
                            let time = Time::from_number(number);
                            inside.arrived.extend(parcels.map(|parcel| (time, parcel.bytes)));
                        });
                        inside.frontier = frontier.frontier().first().copied();
                        if let Some(capability) = &inside.capability {
                            output.session(capability).give_iterator(inside.waiting.drain(..));
                        }
                    }
                },
            );
            sent.connect_loop(handle);
            activator
        });
        let activator = activator.unwrap_or_else(|| worker.activator_for(Rc::from([])));
        Port { inside, activator }
    }

    /// What has arrived, earlier times first.
    pub(crate) fn take(&self) -> Vec<(Time, Vec<u8>)> {
        std::mem::take(&mut self.inside.borrow_mut().arrived)
    }

    /// Whether everything has ended.
    pub(crate) fn is_over(&self) -> bool {
        let inside = self.inside.borrow();
        inside.frontier.is_none() && inside.arrived.is_empty() && inside.capability.is_none()
    }

    /// Whether everything of a time has arrived.
    pub(crate) fn has_arrived(&self, time: Time) -> bool {
        self.inside.borrow().frontier.is_none_or(|least| least > time.number())
    }

    /// This worker will send nothing before this time; nothing at all if there is none. What waits to be sent goes
    /// first.
    pub(crate) fn advance(&self, time: Option<Time>) {
        let inside = &mut *self.inside.borrow_mut();
        if !inside.waiting.is_empty() {
            return;
        }
        match (time, &mut inside.capability) {
            (None, None) => return,
            (None, own) => *own = None,
            (Some(time), Some(own)) if *own.time() < time.number() => own.downgrade(&time.number()),
            _ => return,
        }
        self.activator.activate();
    }

    /// Sends batches at the time of the last [`Port::advance`].
    pub(crate) fn send(&self, batches: impl Iterator<Item = (usize, Vec<u8>)>) {
        let mut inside = self.inside.borrow_mut();
        inside.waiting.extend(batches.map(|(to, bytes)| Parcel { to: to as u64, bytes }));
        if !inside.waiting.is_empty() {
            self.activator.activate();
        }
    }
}
