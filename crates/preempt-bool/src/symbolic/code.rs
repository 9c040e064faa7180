//! The program as the symbolic engines run it: flow graphs with small procedures inlined.
//!
//! Summaries cost copies of every variable a procedure can change, so only procedures that
//! recurse, or are too large to copy, stay procedures. The variables of inlined activations are
//! taken from pools by the height of the stack: siblings share them, and a return forgets them.
//! Hence the invariant: a pooled variable that belongs to no active frame is unconstrained.

use crate::flow::{
    Expr, FunctionId, NodeId, Operation, Owner, Program, Targets, Variable, VariableId,
};
use std::collections::HashMap;

/// Edges that one root may have after inlining.
const SIZE_LIMIT: usize = 40_000;

#[derive(Clone, Debug)]
pub(crate) enum CodeOperation {
    /// Where the guard can hold: assigns, then forgets.
    Step {
        guard: Option<Expr>,
        lhs: Vec<VariableId>,
        rhs: Vec<Expr>,
        constrain: Option<Expr>,
        forget: Vec<VariableId>,
    },
    Call {
        procedure: usize,
        args: Vec<Expr>,
        lhs: Vec<VariableId>,
    },
    Return(Vec<Expr>),
}

/// What an edge of the code means in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nothing: glue of the translation.
    Glue,
    /// An ordinary edge; its values are those of the left-hand sides.
    Edge(FunctionId, usize),
    /// An inlined call; the values are those of the new frame's variables.
    Enter(FunctionId, usize, Vec<VariableId>),
    /// An inlined return.
    Leave(FunctionId, usize),
    /// The thread goes on in its next context.
    Resume,
    /// The first activation of a thread or of `init` begins, with these variables as its frame.
    Start(FunctionId, Vec<VariableId>),
}

#[derive(Clone, Debug)]
pub(crate) struct CodeEdge {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) operation: CodeOperation,
    pub(crate) origin: Origin,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Procedure {
    pub(crate) entry: NodeId,
    pub(crate) params: Vec<VariableId>,
    /// All variables of its frame, those of inlined activations included.
    pub(crate) frame: Vec<VariableId>,
    /// How many of them, at the start, are the function's own.
    pub(crate) own_frame: usize,
    /// Where returned values are put.
    pub(crate) results: Vec<VariableId>,
    pub(crate) edges: Vec<CodeEdge>,
    pub(crate) out: Vec<Vec<usize>>,
    /// The mark of a target node.
    pub(crate) marks: Vec<Option<(FunctionId, usize)>>,
    /// Nodes behind which an interruption can make a difference.
    pub(crate) switches: Vec<bool>,
    /// The function it came from, for a procedure that is not a root.
    pub(crate) function: Option<FunctionId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) variables: Vec<Variable>,
    pub(crate) procedures: Vec<Procedure>,
    pub(crate) atomic: Option<VariableId>,
    /// Variables that every procedure carries along although it may not read them.
    pub(crate) carried: Vec<VariableId>,
    /// The program's own variables of each function's frame.
    pub(crate) frames: Vec<Vec<VariableId>>,
}

/// Adds roots and the procedures they need.
pub(crate) struct Builder<'p> {
    program: &'p Program,
    targets: &'p Targets,
    code: Code,
    recursive: Vec<bool>,
    /// Procedure made for a function, if any.
    made: HashMap<FunctionId, usize>,
    wanted: Vec<FunctionId>,
    /// Pooled variables by width.
    pools: HashMap<u8, Vec<VariableId>>,
    results: HashMap<(usize, u8), VariableId>,
    with_switches: bool,
    last: NodeId,
}

/// How many variables of each width the frames below use.
type Usage = HashMap<u8, usize>;

/// A call of a function, with the body made part of the procedure that calls it.
struct Activation {
    function: FunctionId,
    /// The variables that stand for those of its frame.
    map: HashMap<VariableId, VariableId>,
    usage: Usage,
    entry: NodeId,
    exit: Exit,
    /// How many activations it is inside.
    depth: usize,
}

/// Where the end of an activation leads.
#[derive(Clone)]
enum Exit {
    Procedure,
    Inlined { to: NodeId, lhs: Vec<VariableId>, forget: Vec<VariableId> },
}

impl<'p> Builder<'p> {
    /// With switch nodes, each edge that touches shared data ends at a node of its own, and so does
    /// the passing of shared values to a procedure.
    pub(crate) fn new(program: &'p Program, targets: &'p Targets, with_switches: bool) -> Self {
        let recursive = program.recursive.clone();
        let code = Code {
            variables: program.variables.clone(),
            procedures: Vec::new(),
            atomic: program.atomic,
            carried: Vec::new(),
            frames: program.functions.iter().map(|f| f.frame().collect()).collect(),
        };
        Builder {
            program,
            targets,
            code,
            recursive,
            made: HashMap::new(),
            wanted: Vec::new(),
            pools: HashMap::new(),
            results: HashMap::new(),
            with_switches,
            last: 0,
        }
    }

    /// A procedure that runs the functions one after the other.
    pub(crate) fn root(&mut self, functions: &[FunctionId]) -> usize {
        let mut build = Procedure::default();
        let mut at = node(&mut build);
        build.entry = at;
        let with_switches = self.with_switches;
        for &function in functions {
            let to = node(&mut build);
            // No thread interrupts `init`.
            self.with_switches = with_switches && self.program.init != Some(function);
            self.start(&mut build, function, at, to);
            at = to;
        }
        self.with_switches = with_switches;
        let operation = CodeOperation::Return(Vec::new());
        edge(&mut build, at, at, operation, Origin::Glue);
        self.last = at;
        let root = self.finish(build);
        self.complete();
        root
    }

    /// Where the last root ends.
    pub(crate) fn last_node(&self) -> NodeId {
        self.last
    }

    pub(crate) fn build(self) -> Code {
        self.code
    }

    /// The first activation of a thread or of `init`: no call edge leads to it.
    fn start(&mut self, build: &mut Procedure, function: FunctionId, from: NodeId, to: NodeId) {
        let (map, usage) = self.frame(build, function, &Usage::new());
        let forget: Vec<VariableId> =
            self.program.functions[function].frame().map(|v| map[&v]).collect();
        let entry = node(build);
        edge(build, from, entry, skip(), Origin::Start(function, forget.clone()));
        let exit = Exit::Inlined { to, lhs: Vec::new(), forget };
        self.expand(build, &Activation { function, map, usage, entry, exit, depth: 0 });
    }

    fn complete(&mut self) {
        while let Some(function) = self.wanted.pop() {
            let slot = self.made[&function];
            let mut build = Procedure { function: Some(function), ..Procedure::default() };
            let (map, usage) = self.frame(&mut build, function, &Usage::new());
            build.own_frame = build.frame.len();
            build.params = self.program.functions[function].params.iter().map(|v| map[v]).collect();
            build.results = self.result_variables(function);
            let mut entry = node(&mut build);
            build.entry = entry;
            if self.with_switches && self.is_passed_shared_values(function) {
                // The thread may be interrupted after its arguments were read, which is here: the
                // call edge ends only when the procedure has returned.
                build.switches[entry] = true;
                let first = node(&mut build);
                edge(&mut build, entry, first, skip(), Origin::Glue);
                entry = first;
            }
            let exit = Exit::Procedure;
            self.expand(&mut build, &Activation { function, map, usage, entry, exit, depth: 0 });
            close(&mut build);
            self.code.procedures[slot] = build;
        }
    }

    /// Whether some call of the function has an argument that reads a shared variable.
    fn is_passed_shared_values(&self, function: FunctionId) -> bool {
        let mut reads = false;
        for edge in self.program.functions.iter().flat_map(|f| &f.edges) {
            if let Operation::Call { function: callee, args, .. } = &edge.operation
                && *callee == function
            {
                let mut look = |v| reads |= self.program.is_shared(v);
                args.iter().for_each(|e| e.each_variable(&mut look));
            }
        }
        reads
    }

    fn finish(&mut self, mut build: Procedure) -> usize {
        close(&mut build);
        self.code.procedures.push(build);
        self.code.procedures.len() - 1
    }

    fn result_variables(&mut self, function: FunctionId) -> Vec<VariableId> {
        let widths = self.program.functions[function].returns.clone();
        let variables = &mut self.code.variables;
        let results = &mut self.results;
        let make = |(i, width): (usize, u8)| {
            *results
                .entry((i, width))
                .or_insert_with(|| add(variables, format!("result{i}"), width))
        };
        widths.into_iter().enumerate().map(make).collect()
    }

    /// Variables for the frame of a new activation above those in use.
    fn frame(
        &mut self,
        build: &mut Procedure,
        function: FunctionId,
        usage: &Usage,
    ) -> (HashMap<VariableId, VariableId>, Usage) {
        let mut usage = usage.clone();
        let mut map = HashMap::new();
        for v in self.program.functions[function].frame() {
            let width = self.program.variables[v].width;
            let used = usage.entry(width).or_default();
            let pool = self.pools.entry(width).or_default();
            if pool.len() == *used {
                let name = format!("local{used}_{width}");
                pool.push(add(&mut self.code.variables, name, width));
            }
            map.insert(v, pool[*used]);
            if !build.frame.contains(&pool[*used]) {
                build.frame.push(pool[*used]);
            }
            *used += 1;
        }
        (map, usage)
    }

    fn expand(&mut self, build: &mut Procedure, activation: &Activation) {
        let &Activation { function, entry, depth, .. } = activation;
        let program = self.program;
        let definition = &program.functions[function];
        let nodes: Vec<NodeId> = (0..definition.out.len())
            .map(|n| if n == definition.entry { entry } else { node(build) })
            .collect();
        for (n, at) in nodes.iter().enumerate() {
            if let Some(mark) = self.targets.at(function, n) {
                build.marks[*at] = Some((function, mark));
            }
        }
        let rename = |v: VariableId| activation.map.get(&v).copied().unwrap_or(v);
        let renamed = |list: &[Expr]| list.iter().map(|e| e.map(&rename)).collect::<Vec<_>>();
        for (e, old) in definition.edges.iter().enumerate() {
            let (from, to) = (nodes[old.from], nodes[old.to]);
            let origin = Origin::Edge(function, e);
            let shared = program.is_switch_point(function, e);
            match &old.operation {
                Operation::Assume(condition) => {
                    let operation = guarded(condition.map(&rename));
                    self.step(build, CodeEdge { from, to, operation, origin }, shared);
                }
                Operation::Assign { lhs, rhs, constrain } => {
                    let operation = CodeOperation::Step {
                        guard: None,
                        lhs: lhs.iter().map(|v| rename(*v)).collect(),
                        rhs: renamed(rhs),
                        constrain: constrain.as_ref().map(|c| c.map(&rename)),
                        forget: Vec::new(),
                    };
                    self.step(build, CodeEdge { from, to, operation, origin }, shared);
                }
                Operation::Return(values) => {
                    let values = renamed(values);
                    self.leave(build, activation, e, from, values);
                }
                Operation::Call { function: callee, args, lhs } => {
                    let lhs: Vec<VariableId> = lhs.iter().map(|v| rename(*v)).collect();
                    let (args, callee) = (renamed(args), *callee);
                    let inline =
                        !self.recursive[callee] && depth < 60 && build.edges.len() < SIZE_LIMIT;
                    if inline {
                        let (map, usage) = self.frame(build, callee, &activation.usage);
                        let frame: Vec<VariableId> =
                            program.functions[callee].frame().map(|v| map[&v]).collect();
                        let operation = CodeOperation::Step {
                            guard: None,
                            lhs: frame[..args.len()].to_vec(),
                            rhs: args,
                            constrain: None,
                            forget: Vec::new(),
                        };
                        let entry = node(build);
                        let origin = Origin::Enter(function, e, frame.clone());
                        self.step(build, CodeEdge { from, to: entry, operation, origin }, shared);
                        let exit = Exit::Inlined { to, lhs, forget: frame };
                        let (function, depth) = (callee, depth + 1);
                        let inner = Activation { function, map, usage, entry, exit, depth };
                        self.expand(build, &inner);
                    } else {
                        let procedure = self.procedure(callee);
                        let returns = !program.functions[callee].returns.is_empty();
                        let operation = CodeOperation::Call { procedure, args, lhs };
                        let shared = returns || shared;
                        self.step(build, CodeEdge { from, to, operation, origin }, shared);
                    }
                }
            }
        }
    }

    fn procedure(&mut self, function: FunctionId) -> usize {
        if let Some(made) = self.made.get(&function) {
            return *made;
        }
        let slot = self.finish(Procedure::default());
        self.made.insert(function, slot);
        self.wanted.push(function);
        slot
    }

    fn leave(
        &mut self,
        build: &mut Procedure,
        Activation { function, exit, .. }: &Activation,
        e: usize,
        from: NodeId,
        values: Vec<Expr>,
    ) {
        let function = *function;
        match exit {
            Exit::Procedure => {
                let operation = CodeOperation::Return(values);
                edge(build, from, from, operation, Origin::Edge(function, e));
            }
            Exit::Inlined { to, lhs, forget } => {
                let shared = self.program.is_switch_point(function, e)
                    || lhs.iter().any(|v| self.code.variables[*v].owner == Owner::Shared);
                let rhs = if lhs.is_empty() { Vec::new() } else { values };
                let operation = CodeOperation::Step {
                    guard: None,
                    lhs: lhs.clone(),
                    rhs,
                    constrain: None,
                    forget: forget.clone(),
                };
                let (to, origin) = (*to, Origin::Leave(function, e));
                self.step(build, CodeEdge { from, to, operation, origin }, shared);
            }
        }
    }

    fn step(&mut self, build: &mut Procedure, mut step: CodeEdge, shared: bool) {
        if self.with_switches && shared {
            let between = node(build);
            build.switches[between] = true;
            let to = std::mem::replace(&mut step.to, between);
            build.edges.push(step);
            edge(build, between, to, skip(), Origin::Glue);
        } else {
            build.edges.push(step);
        }
    }
}

impl Code {
    /// A new variable that all procedures see.
    pub(crate) fn add(&mut self, name: String, width: u8) -> VariableId {
        let id = add(&mut self.variables, name, width);
        self.variables[id].owner = Owner::Thread;
        id
    }
}

pub(crate) fn add_edge(
    procedure: &mut Procedure,
    from: NodeId,
    to: NodeId,
    operation: CodeOperation,
    origin: Origin,
) {
    edge(procedure, from, to, operation, origin);
    procedure.out[from].push(procedure.edges.len() - 1);
}

fn add(variables: &mut Vec<Variable>, name: String, width: u8) -> VariableId {
    let owner = Owner::Function(usize::MAX);
    variables.push(Variable { name, width, is_bool: width == 1, owner, group: usize::MAX });
    variables.len() - 1
}

fn node(build: &mut Procedure) -> NodeId {
    build.out.push(Vec::new());
    build.marks.push(None);
    build.switches.push(false);
    build.out.len() - 1
}

fn edge(build: &mut Procedure, from: NodeId, to: NodeId, operation: CodeOperation, origin: Origin) {
    build.edges.push(CodeEdge { from, to, operation, origin });
}

/// Removes what cannot be reached and lists the edges by the node they leave.
fn close(build: &mut Procedure) {
    build.out.iter_mut().for_each(Vec::clear);
    for (i, e) in build.edges.iter().enumerate() {
        build.out[e.from].push(i);
    }
}

fn skip() -> CodeOperation {
    CodeOperation::Step {
        guard: None,
        lhs: Vec::new(),
        rhs: Vec::new(),
        constrain: None,
        forget: Vec::new(),
    }
}

fn guarded(condition: Expr) -> CodeOperation {
    CodeOperation::Step {
        guard: Some(condition),
        lhs: Vec::new(),
        rhs: Vec::new(),
        constrain: None,
        forget: Vec::new(),
    }
}
