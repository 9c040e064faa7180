//! What an action costs, counted and not timed: bytes that are sent, steps that are executed. However long
//! the path is and however many processes there are, it is what is in view that counts.

use crate::client::Served;
use preempt_core::{
    Claim, Describe, Enabled, Independence, Outcome, ProcessId, Step, System, Value,
};
use preempt_report::Source;
use preempt_serve::{Choice, Mistake, Origin, Question, Subject};
use preempt_testing::Random;
use preempt_verify::{Control, Error};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const PROCESSES: u16 = 200;

/// Two hundred processes that each count up one of two variables, again and again.
#[derive(Clone, Default)]
struct Crowd {
    executed: Arc<AtomicU64>,
}

impl System for Crowd {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(2 * usize::from(PROCESSES), 0);
        Outcome::Done
    }

    fn process_count(&self, _: &[u8]) -> usize {
        usize::from(PROCESSES)
    }

    fn enabled(&self, _: &mut Vec<u8>, enabled: &mut Enabled) {
        for pid in (0..PROCESSES).rev() {
            (0..2).for_each(|transition| enabled.push(Step::new(ProcessId(pid), transition)));
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.executed.fetch_add(1, Ordering::Relaxed);
        let at = 2 * step.process.index() + step.transition as usize;
        state[at] = state[at].wrapping_add(1);
        Outcome::Done
    }
}

impl Independence for Crowd {}

impl Describe for Crowd {
    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        let name = |at: usize| format!("{}[{}]", ["a", "b"][at % 2], at / 2);
        state.iter().enumerate().map(|(at, v)| (name(at), Value::Int(i64::from(*v)))).collect()
    }

    fn position(&self, _: &[u8], _: ProcessId) -> Option<(String, u32, String)> {
        Some(("a/file/somewhere.pml".into(), 7, "x++".into()))
    }
}

impl Subject for Crowd {
    fn kind(&self) -> &'static str {
        "crowd"
    }

    fn sources(&self) -> Vec<Source> {
        Vec::new()
    }

    fn explore(&self, visit: &mut dyn FnMut(&dyn System)) {
        visit(self)
    }

    fn properties(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn check(&self, _: &Question, _: &Control<'_>) -> Result<Vec<Claim>, Error> {
        Ok(Vec::new())
    }
}

impl Origin for Crowd {
    fn name(&self) -> String {
        "crowd".into()
    }

    fn load(&self) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        Ok(Arc::new(self.clone()))
    }
}

/// A page on a path of its own length: what its actions cost, as (bytes there, bytes back, steps).
struct Page<'a> {
    served: &'a Served,
    executed: &'a AtomicU64,
    trail: u64,
    length: usize,
}

impl Page<'_> {
    fn act(&mut self, more: &str, here: usize, rows: (usize, usize)) -> (usize, usize, u64) {
        let onto = json!({ "trail": self.trail, "keep": self.length });
        let body = json!({
            "model": 0, "onto": onto, "path": more, "here": here, "from": rows.0, "rows": rows.1,
            "processes": 40, "variables": 120,
        });
        let before = self.executed.load(Ordering::Relaxed);
        let response = self.served.post("look", &body);
        assert_eq!(response.status, 200, "{}", response.body);
        let look: serde_json::Value = serde_json::from_str(&response.body).unwrap();
        self.trail = look["trail"].as_u64().unwrap();
        self.length = look["length"].as_u64().unwrap() as usize;
        assert_eq!(look["here"], json!(here));
        let executed = self.executed.load(Ordering::Relaxed) - before;
        (body.to_string().len(), response.body.len(), executed)
    }
}

#[test]
fn an_action_costs_what_is_in_view() {
    let crowd = Crowd::default();
    let executed = crowd.executed.clone();
    let served = Served::new(vec![Box::new(crowd)]);
    let costs = |length: usize| {
        let mut path = json!({ "path": "" });
        let mut known = 0;
        while known < length {
            let mut body = json!({ "model": 0, "mode": "random", "steps": (length - known).min(10_000), "seed": known });
            body.as_object_mut().unwrap().extend(path.as_object().unwrap().clone());
            let ran = served.ask("run", body);
            known = (known + 10_000).min(length);
            path = json!({ "onto": { "trail": ran["trail"], "keep": known } });
        }
        let trail = path["onto"]["trail"].as_u64().unwrap();
        let mut page = Page { served: &served, executed: &executed, trail, length };
        [
            ("on", page.act("0", length + 1, (length - 2, 6))),
            ("back", page.act("", length, (length - 3, 6))),
            ("start", page.act("", 0, (0, 120))),
            ("end", page.act("", length + 1, (length - 59, 120))),
        ]
    };
    // Paths that end equally far behind a state that is kept.
    let (short, long) = (costs(320), costs(102_400));
    println!("{short:?}\n{long:?}");
    for ((name, (asked, answered, steps)), (_, few)) in long.iter().zip(&short) {
        assert!(*asked < 300, "{name}: {asked} bytes of request");
        assert!(*answered < 64_000, "{name}: {answered} bytes of answer");
        assert!(*steps < 600, "{name}: {steps} steps executed");
        assert_eq!(*steps, few.2, "{name}: as many steps as on a short path");
        assert!(answered.abs_diff(few.1) < few.1 / 10, "{name}: {answered} and {} bytes", few.1);
    }
    // A step forward shows some rows, and every process and variable that is in view.
    assert!(long[0].1.1 < 40_000, "{} bytes for one step", long[0].1.1);
}

/// A path by the name of its walk is the same as the path in full, and names end with their walks.
#[test]
fn paths_by_name_are_paths() {
    let crowd = Crowd::default();
    let served = Served::new(vec![Box::new(crowd)]);
    let mut random = Random::linear(5);
    let mut below = |bound: usize| random.below(bound);
    let letter = |choice: usize| format!("({choice})");
    let (mut known, mut by_name, mut gone) = (Vec::<(u64, Vec<usize>)>::new(), 0, 0);
    for _ in 0..120 {
        let (onto, mut choices) = match known.len() {
            0 => (None, Vec::new()),
            count => {
                let (trail, choices) = known[below(count)].clone();
                let keep = below(choices.len() + 1);
                (Some(json!({ "trail": trail, "keep": keep })), choices[..keep].to_vec())
            }
        };
        let more: Vec<usize> = (0..below(90)).map(|_| below(400)).collect();
        choices.extend(&more);
        let text = |choices: &[usize]| choices.iter().map(|c| letter(*c)).collect::<String>();
        let body = json!({ "model": 0, "onto": onto, "path": text(&more), "rows": 12 });
        let response = served.post("look", &body);
        let mut look: serde_json::Value = serde_json::from_str(&response.body).unwrap();
        if response.status != 200 {
            // The server remembers a few walks only, each as it is now.
            assert_eq!(response.status, 410, "{look}");
            gone += 1;
            known.retain(|(trail, _)| {
                Some(*trail) != onto.as_ref().and_then(|o| o["trail"].as_u64())
            });
            continue;
        }
        by_name += usize::from(onto.is_some());
        let name = look["trail"].as_u64().unwrap();
        let same = known.iter().find(|(trail, _)| *trail == name);
        assert!(same.is_none_or(|(_, known)| *known == choices), "one name, two walks");
        let path = json!({ "model": 0, "onto": { "trail": name, "keep": choices.len() } });
        let whole = served.ask("path", path)["path"].as_str().unwrap().to_string();
        let body = json!({ "model": 0, "path": whole, "rows": 12 });
        let mut again = served.ask("look", body);
        for answer in [&mut look, &mut again] {
            answer["trail"] = json!(null);
        }
        assert_eq!(look, again);
        assert_eq!(look["length"], json!(choices.len()));
        known.retain(|(trail, _)| *trail != name);
        known.push((name, choices));
    }
    assert!(by_name > 40 && gone > 5, "{by_name} by name, {gone} gone");
    let long =
        json!({ "model": 0, "onto": { "trail": known.last().unwrap().0, "keep": 1_000_000 } });
    assert_eq!(served.refused("path", long).0, 400);
}
