//! Channels: how long they are, which ends are left on either side, and what passes through them.

use super::Object;
use super::done::{Done, Publish};
use super::values::Channel;
use crate::race::Clocks;
use crate::{Action, Operation, ThreadId};

pub(super) fn execute_channel(object: &mut Object, operation: &Operation, timeout: bool) -> Done {
    let version = object.version;
    let mut channel = Channel::from_value(object.value);
    let mut done = Done { result: 0, observed: version, publish: Publish::Nothing, changed: true };
    match operation.action {
        Action::Send | Action::TrySend => {
            let meets = operation.action == Action::Send || operation.first != 1 || channel.offered;
            let room = meets
                && (operation.first == 0
                    || u64::from(channel.length) < (operation.first - 1).max(1));
            done.observed = 0;
            done.result = match (channel.receiver, room) {
                (true, true) => 0,
                (true, false) => 1,
                (false, _) => 2,
            };
            if done.result == 0 {
                channel.length += 1;
                done.publish = Publish::Append;
            }
            done.changed = done.result == 0;
        }
        Action::AwaitTaken => {
            done.result = u64::from(object.readers < operation.first);
            done.observed = 0;
            done.changed = false;
        }
        Action::Offer => {
            channel.offered = true;
            done.observed = 0;
        }
        Action::Receive | Action::TryReceive if timeout => {
            channel.offered = false;
            done.result = 3;
        }
        Action::Receive | Action::TryReceive => {
            done.result = match (channel.length, channel.senders) {
                (0, 0) => 2,
                (0, _) => 1,
                _ => 0,
            };
            if done.result == 0 {
                channel.length -= 1;
                object.readers += 1;
            }
            channel.offered = false;
            done.changed = done.result == 0;
        }
        Action::Length => {
            done.result = channel.length.into();
            done.changed = false;
        }
        Action::CloseSender => {
            channel.senders -= 1;
            done.observed = 0;
            done.publish = Publish::Append;
        }
        _ => {
            channel.receiver = false;
            done.observed = 0;
            done.publish = Publish::Append;
        }
    }
    object.value = channel.value();
    done
}

/// What a thread knows of others after an operation on a channel with this result.
pub(super) fn pass_clocks(clocks: &mut Clocks, id: ThreadId, operation: &Operation, result: u64) {
    let object = operation.object;
    match (operation.action, result) {
        (Action::Send | Action::TrySend, 0) => {
            clocks.send(id, object, operation.first.checked_sub(1));
        }
        (Action::AwaitTaken, 0) => clocks.come_after_receiver(id, object, operation.first),
        // The receiver is gone.
        (Action::Send | Action::TrySend, 2) | (Action::AwaitTaken, _) => {
            clocks.acquire_from_readers(id, object);
        }
        (Action::Receive | Action::TryReceive, 0) => clocks.receive(id, object),
        // All senders are gone. Only where both sides meet, that tells what they have done before: std's other channels
        // find it out by a load that does not acquire.
        (Action::Receive | Action::TryReceive, 2) if operation.first == 1 => {
            clocks.acquire(id, object);
        }
        (Action::CloseSender, _) => clocks.release(id, object, false),
        (Action::CloseReceiver, _) => {
            clocks.receive_all(id, object);
            clocks.release_by_reader(id, object);
        }
        _ => {}
    }
}
