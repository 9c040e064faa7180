//! Diagrams against truth tables, and garbage collection.

use super::*;
use crate::limits::Limits;

/// Every operation against truth tables over five variables.
#[test]
fn operations_agree_with_truth_tables() {
    let watch = Watch::new(Limits::default());
    let diagrams = Diagrams::new(&watch);
    let variables: Vec<Diagram> = (0..5).map(|l| diagrams.variable(l).unwrap()).collect();
    let build = |table: u32| {
        let mut sum = diagrams.constant(false);
        for row in (0..32).filter(|row| table >> row & 1 == 1) {
            let mut term = diagrams.constant(true);
            for (i, v) in variables.iter().enumerate() {
                let literal = if row >> i & 1 == 1 { v.clone() } else { diagrams.not(v) };
                term = diagrams.and(&term, &literal).unwrap();
            }
            sum = diagrams.or(&sum, &term).unwrap();
        }
        sum
    };
    let exists = |table: u32, mask: u32| {
        let mut result = 0;
        for row in 0..32u32 {
            let same = |other: &u32| other & !mask == row & !mask;
            if (0..32u32).filter(same).any(|other| table >> other & 1 == 1) {
                result |= 1 << row;
            }
        }
        result
    };
    let mut numbers = preempt_testing::Random::shifts(88_172_645_463_325_252, 16);
    let mut random = || numbers.next_number() as u32;
    for _ in 0..300 {
        let (a, b, mask) = (random(), random(), random() & 31);
        let (x, y) = (build(a), build(b));
        assert!(diagrams.and(&x, &y).unwrap() == build(a & b));
        assert!(diagrams.xor(&x, &y).unwrap() == build(a ^ b));
        assert!(diagrams.minus(&x, &y).unwrap() == build(a & !b));
        let cube = diagrams.cube((0..5).filter(|i| mask >> i & 1 == 1)).unwrap();
        assert!(diagrams.exists(&x, &cube).unwrap() == build(exists(a, mask)));
        assert!(diagrams.and_exists(&x, &y, &cube).unwrap() == build(exists(a & b, mask)));
        let swap = diagrams.renaming([(0, 3), (3, 0), (1, 2), (2, 1)]);
        let mut swapped = 0;
        for row in 0..32u32 {
            let bit = |i: u32| row >> i & 1;
            let from = bit(3) | bit(2) << 1 | bit(1) << 2 | bit(0) << 3 | bit(4) << 4;
            swapped |= (a >> from & 1) << row;
        }
        assert!(diagrams.rename(&x, &swap).unwrap() == build(swapped));
        if let Some(values) = diagrams.pick(&x) {
            let row = values.iter().fold(0, |row, (l, v)| row | u32::from(*v) << l);
            assert_eq!(a >> row & 1, 1);
        } else {
            assert_eq!(a, 0);
        }
    }
}

#[test]
fn garbage_is_collected_and_handles_survive() {
    let watch = Watch::new(Limits::default());
    let diagrams = Diagrams::new(&watch);
    let mut parity = diagrams.constant(false);
    for level in 0..20 {
        let v = diagrams.variable(level).unwrap();
        parity = diagrams.xor(&parity, &v).unwrap();
    }
    let before = diagrams.pick(&parity);
    diagrams.core.borrow_mut().collect(&diagrams.references.borrow());
    assert_eq!(before, diagrams.pick(&parity));
    assert!(diagrams.core.borrow().in_use() < 30);
}
