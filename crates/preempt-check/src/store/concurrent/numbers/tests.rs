//! A numbered set of several threads: every key has one number, also while segments are sealed and split, and in a crowd.

use super::super::directory::Room;
use super::super::growth::in_parts;
use super::super::readers::ManyReaders;
use super::*;

fn hash([key]: [u64; 1]) -> u64 {
    crate::store::tree::pairs::hash(key)
}

/// A line whose first words were loaded before others filled it: neither may an entry be put over one of those seen
/// behind the gap, nor may the line be passed by as a full one.
#[test]
fn a_line_that_fills_while_it_is_loaded_is_not_trusted() {
    let (_numbers, directory) = Numbers::<1>::new(hash);
    let lines = Lines { segment: directory.segment(7), hash: 7 };
    for number in 0..LINE as u32 {
        assert!(lines.add(number));
    }
    let mut torn = lines.load(lines.home());
    assert_eq!(first_free(&torn), LINE);
    (torn[4], torn[5]) = (0, 0);
    let free = first_free(&torn);
    assert_eq!(free, 4);
    assert!(!lines.publish(lines.home(), free, &torn, lines.entry(99)));
    let other = Lines { hash: 0, ..lines };
    assert_eq!(other.matches(&torn) >> 4, 0, "what is behind the gap was not seen");
}

/// Nothing can be put into a sealed segment, and what is there is found, whatever its tag.
#[test]
fn sealed_segments_keep_what_they_have() {
    let (_numbers, directory) = Numbers::<1>::new(hash);
    for hash in [0, u64::MAX, 7, 1 << 31, u64::from(u32::MAX)] {
        let lines = Lines { segment: directory.segment(hash), hash };
        let seen = lines.load(lines.home());
        assert!(lines.add(5));
        seal(lines.segment);
        let line = lines.load(lines.home());
        assert_eq!((lines.matches(&line), first_free(&line)), (1, 1));
        assert_eq!(lines.number_of(line[0]), 5);
        assert!(!lines.publish(lines.home(), 0, &seen, lines.entry(9)));
        assert!(!lines.add(9));
        // Unsealed again for the next.
        lines.segment.words[HEADER..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// Threads add the same keys in different orders: every key gets one number, told to one thread as new.
fn every_key_gets_one_number(threads: usize, all: u64, key_hash: fn([u64; 1]) -> u64) -> usize {
    let (numbers, directory) = Numbers::<1>::new(key_hash);
    let directory = ManyReaders::new(directory, threads);
    let number_of = |thread: usize, local: &mut LocalNumbers<1>, key: u64| {
        let mut contention = Contention::default();
        let hash = key_hash([key]);
        loop {
            let mine = (&mut *local, &mut contention);
            let numbered = {
                let directory = directory.read(thread);
                numbers.number(&directory, mine, (hash, [key]), |_| true, |_| Ok(()))
            };
            let Numbered::Crowded(crowded) = numbered.expect("there is room") else {
                return numbered.expect("there is room");
            };
            let readers = (&directory, thread);
            let room = numbers.table.make_room(
                readers,
                (|all| all, |all| all),
                crowded,
                &numbers,
                |_| true,
                &mut contention,
            );
            if let Room::Attic(mut attic) = room.expect("there is room") {
                let list = attic.entry((hash >> 32) as u32).or_default();
                let mine = (&mut *local, &mut contention);
                let numbered = numbers.number_in_attic(list, mine, [key], |_| true, |_| Ok(()));
                return numbered.expect("there is room");
            }
        }
    };
    let results = in_parts(threads, |thread| {
        let mut local = numbers.local();
        let mut found = vec![0; all as usize];
        let mut new = 0;
        for at in 0..all {
            let key = (at * 7 + thread as u64 * 1001 * (at % 3)) % all;
            let (number, is_new) = match number_of(thread, &mut local, key) {
                Numbered::Known(number) => (number, 0),
                Numbered::New(number) => (number, 1),
                Numbered::Crowded(_) => unreachable!("there is room"),
            };
            found[key as usize] = number + 1;
            new += is_new;
        }
        (found, new)
    });
    let mut keys: Vec<u64> = Vec::new();
    for key in 0..all {
        let given: Vec<u32> =
            results.iter().map(|(found, _)| found[key as usize]).filter(|n| *n != 0).collect();
        let Some(first) = given.first() else { continue };
        assert!(given.iter().all(|number| number == first), "key {key}: {given:?}");
        assert_eq!(numbers.key(first - 1), [key]);
        let again = number_of(0, &mut numbers.local(), key);
        assert_eq!(again, Numbered::Known(first - 1));
        keys.push(key);
    }
    assert_eq!(results.iter().map(|(_, new)| new).sum::<usize>(), keys.len());
    assert!(numbers.table.bytes() < keys.len() * 16 + (1 << 20), "{}", numbers.table.bytes());
    let most = numbers.table.moves.0.load(Ordering::Relaxed);
    assert!(most <= 2 * WORDS, "{most} entries moved by one insertion");
    numbers.table.attic_len()
}

#[test]
fn every_key_gets_one_number_while_segments_are_split() {
    for threads in [1, 4] {
        assert_eq!(every_key_gets_one_number(threads, 200_000, hash), 0);
    }
}

/// Every eighth key has the same hash as thousands of others: they go to the attic, and the index does not grow for their sake.
#[test]
fn crowds_of_equal_hashes_go_to_the_attic() {
    let crowd = |[key]: [u64; 1]| if key % 8 == 0 { 0x1234_5678_9abc_def0 } else { hash([key]) };
    for threads in [1, 3] {
        let attic = every_key_gets_one_number(threads, 24_000, crowd);
        assert!((2_000..12_000).contains(&attic), "{attic}");
    }
}
