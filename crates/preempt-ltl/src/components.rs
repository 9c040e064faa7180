//! Strongly connected components.

/// Tarjan's algorithm without recursion: component number of each state.
pub(crate) fn tarjan<I: Iterator<Item = u32>>(
    states: usize,
    successors: impl Fn(u32) -> I,
) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut index = vec![NONE; states];
    let mut low = vec![0u32; states];
    let mut component = vec![NONE; states];
    let mut open: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, I)> = Vec::new();
    let (mut counter, mut components) = (0, 0);
    for root in 0..states as u32 {
        if index[root as usize] != NONE {
            continue;
        }
        index[root as usize] = counter;
        low[root as usize] = counter;
        counter += 1;
        open.push(root);
        calls.push((root, successors(root)));
        while let Some((state, rest)) = calls.last_mut() {
            let state = *state as usize;
            if let Some(next) = rest.next() {
                let next_index = index[next as usize];
                if next_index == NONE {
                    index[next as usize] = counter;
                    low[next as usize] = counter;
                    counter += 1;
                    open.push(next);
                    calls.push((next, successors(next)));
                } else if component[next as usize] == NONE {
                    low[state] = low[state].min(next_index);
                }
                continue;
            }
            calls.pop();
            if let Some((caller, _)) = calls.last() {
                low[*caller as usize] = low[*caller as usize].min(low[state]);
            }
            if low[state] == index[state] {
                while let Some(member) = open.pop() {
                    component[member as usize] = components;
                    if member as usize == state {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}
