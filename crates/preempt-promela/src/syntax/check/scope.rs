//! The variables of one body: a stack of blocks. A name lives as long as its block; blocks beside
//! each other may use the same one.

use std::collections::HashMap;
use std::sync::Arc;

use super::labels::Labels;
use crate::model::{LocalId, Variable};

/// How a variable is used, for warnings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Named at all.
    pub(super) used: bool,
    /// A channel that is sent to.
    pub(super) sent: bool,
    /// A channel that is received from or looked into, or whose value goes elsewhere.
    pub(super) received: bool,
    /// Something is stored in it.
    pub(super) stored: bool,
}

/// Variables and scopes of a process type, claim or trace.
#[derive(Default)]
pub(super) struct Body {
    /// Parameters and all locals in order of declaration.
    pub(super) variables: Vec<Variable>,
    pub(super) usage: Vec<Usage>,
    scopes: Vec<HashMap<Arc<str>, LocalId>>,
    /// A statement has been seen: no longer the start of the body.
    pub(super) started: bool,
    /// Labels, where the body is none of a process type.
    pub(super) labels: Option<Labels>,
}

impl Body {
    pub(super) fn push(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(super) fn pop(&mut self) {
        self.scopes.pop();
    }

    /// Whether declarations made now lie in a nested block.
    pub(super) fn is_nested(&self) -> bool {
        self.scopes.len() > 1
    }

    pub(super) fn find(&self, name: &str) -> Option<LocalId> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name).copied())
    }

    pub(super) fn declare(&mut self, name: Arc<str>, variable: Variable) -> LocalId {
        let id = LocalId(self.variables.len() as u32);
        self.variables.push(variable);
        self.usage.push(Usage::default());
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, id);
        }
        id
    }

    /// All names that can be seen here.
    pub(super) fn visible(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().flat_map(|scope| scope.keys().map(|name| &**name))
    }
}
