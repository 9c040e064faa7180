//! Models written in Rust: `explore(model).serve()`.

use super::{Choice, Mistake, Origin, Question, Subject};
use preempt_core::{Claim, System};
use preempt_model::{Encoded, Model};
use preempt_report::Source;
use preempt_verify::{Control, Error, verify_model};
use std::sync::Arc;

/// A model in Rust, with the name to show.
pub struct RustModel<M> {
    name: String,
    model: Arc<M>,
}

impl<M: Model + Send + Sync + 'static> RustModel<M> {
    /// A model.
    pub fn new(name: impl Into<String>, model: M) -> Self {
        RustModel { name: name.into(), model: Arc::new(model) }
    }
}

impl<M: Model + Send + Sync + 'static> Origin for RustModel<M> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn load(&self) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        Ok(Arc::new(Typed { model: self.model.clone() }))
    }
}

struct Typed<M> {
    model: Arc<M>,
}

impl<M: Model + Send + Sync + 'static> Subject for Typed<M> {
    fn kind(&self) -> &'static str {
        "model in Rust"
    }

    fn sources(&self) -> Vec<Source> {
        Vec::new()
    }

    fn explore(&self, visit: &mut dyn FnMut(&dyn System)) {
        visit(&Encoded::new(&*self.model));
    }

    fn properties(&self) -> Vec<Choice> {
        vec![Choice { id: "all".into(), label: "all that is expected of the model".into() }]
    }

    fn check(&self, question: &Question, control: &Control<'_>) -> Result<Vec<Claim>, Error> {
        verify_model(&*self.model, &question.request(), control)
    }
}
