//! Nested depth-first search: is there a cycle through an accepting state?
//!
//! A first search explores everything; when it leaves an accepting state, a second one looks for a way back to the path of the
//! first (Courcoubetis, Vardi, Wolper and Yannakakis, with the colours of Schwoon and Esparza, `colours.rs`). A cycle is seen early: an
//! edge between a cyan state and the last state of the path, one of them accepting, closes one. If all successors of a
//! state are red, it becomes red itself, without a second search.
//!
//! The loop is here, once; what a product state is, where its successors come from and how its colour is kept is behind
//! [`ProductGraph`]: any system over any store (`nested.rs`), system states that product states share (`nested_shared.rs`), and a
//! graph that several threads expand (`concurrent.rs`).
//!
//! Invariant: when the second search begins at a state, all that can be reached from it was visited by the first.

use super::colours::{ACCEPTING, BLUE, COLOUR, CYAN, RED};
use crate::search::shared::halt::Halt;

/// One of the two paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    /// The path of the first search.
    First,
    /// That of the second, which begins where the first ends.
    Second,
}

/// Something of both paths.
#[derive(Default)]
pub(super) struct Both<T>([T; 2]);

impl<T> std::ops::Index<Which> for Both<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, which: Which) -> &T {
        &self.0[which as usize]
    }
}

impl<T> std::ops::IndexMut<Which> for Both<T> {
    #[inline(always)]
    fn index_mut(&mut self, which: Which) -> &mut T {
        &mut self.0[which as usize]
    }
}

/// Where an edge leads.
pub(super) enum Edge<N, U> {
    /// There is none: all edges of the state were followed.
    Done,
    /// To nothing that has a colour: the graph has dealt with it.
    Passed,
    /// To a product state that was not visited yet.
    Unvisited(U),
    /// To one that was, with its marks: its colour, and whether it is accepting.
    Visited(N, u8),
}

/// A product state on the path of the first search.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnPath<N> {
    /// What it is known by.
    pub(super) node: N,
    pub(super) accepting: bool,
    /// Whether all its successors so far are red.
    pub(super) all_red: bool,
}

/// A graph of product states, with the paths of the two searches and the colours of what they visited.
pub(super) trait ProductGraph {
    /// A visited product state.
    type Node: Copy;
    /// One that was not visited yet.
    type Unvisited;

    /// Follows the next edge out of the last state of a path.
    fn advance(&mut self, which: Which) -> Result<Edge<Self::Node, Self::Unvisited>, Halt>;

    /// Puts a state on the first path, in cyan.
    fn visit(&mut self, state: Self::Unvisited) -> Result<(), Halt>;

    /// Makes the last state of the first path the only one of the second.
    fn begin_second(&mut self) -> Result<(), Halt>;

    /// Puts the state that the last edge of the second path leads to on that path.
    fn visit_again(&mut self, node: Self::Node) -> Result<(), Halt>;

    /// Removes the last state of a path; says whether another one is left.
    fn pop(&mut self, which: Which) -> bool;

    /// Whether the first path ends inside an indivisible sequence, in a state that has no colour.
    fn is_inside(&self) -> bool {
        false
    }

    /// The last state of the first path that has a colour.
    fn source(&mut self) -> Option<&mut OnPath<Self::Node>>;

    /// Gives a state that has one colour another.
    fn paint(&mut self, node: Self::Node, from: u8, to: u8);

    /// The two paths close a cycle at this state of the first.
    fn close(&mut self, node: Self::Node) -> Result<(), Halt>;
}

/// Explores everything behind the first path.
#[inline(always)]
pub(super) fn explore<G: ProductGraph>(graph: &mut G) -> Result<(), Halt> {
    loop {
        match graph.advance(Which::First)? {
            Edge::Passed => {}
            Edge::Unvisited(state) => graph.visit(state)?,
            Edge::Visited(node, marks) => {
                let Some(source) = graph.source() else { continue };
                source.all_red &= marks & COLOUR == RED;
                let accepting = source.accepting || marks & ACCEPTING != 0;
                if marks & COLOUR == CYAN && accepting {
                    graph.close(node)?;
                }
            }
            Edge::Done => {
                if !leave(graph)? {
                    return Ok(());
                }
            }
        }
    }
}

/// Leaves the last state of the first path; says whether there was one.
#[inline(always)]
fn leave<G: ProductGraph>(graph: &mut G) -> Result<bool, Halt> {
    if graph.is_inside() {
        graph.pop(Which::First);
        return Ok(true);
    }
    let Some(&mut OnPath { node, accepting, all_red }) = graph.source() else { return Ok(false) };
    if accepting && !all_red {
        look_for_cycle(graph)?;
    }
    let colour = if accepting || all_red { RED } else { BLUE };
    graph.paint(node, CYAN, colour);
    graph.pop(Which::First);
    if let Some(source) = graph.source() {
        source.all_red &= colour == RED;
    }
    Ok(true)
}

/// The second search, from an accepting state that the first one is about to leave.
fn look_for_cycle<G: ProductGraph>(graph: &mut G) -> Result<(), Halt> {
    graph.begin_second()?;
    loop {
        match graph.advance(Which::Second)? {
            Edge::Done => {
                if !graph.pop(Which::Second) {
                    return Ok(());
                }
            }
            // Where a limit of depth has cut it off, the first search may not have visited it.
            Edge::Passed | Edge::Unvisited(_) => {}
            Edge::Visited(node, marks) => match marks & COLOUR {
                CYAN => return graph.close(node),
                BLUE => {
                    graph.paint(node, BLUE, RED);
                    graph.visit_again(node)?;
                }
                _ => {}
            },
        }
    }
}
