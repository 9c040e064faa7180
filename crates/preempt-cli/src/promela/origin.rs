//! A model in the browser.

use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::meant;
use preempt_serve::{Origin, PromelaFile};
use preempt_verify::promela::Settings;
use std::path::Path;

/// Opens a model for `preempt serve`.
pub(crate) fn origin(file: &Path, arguments: &ServeArguments) -> Result<Box<dyn Origin>, Failure> {
    meant::a_model(file)?;
    let settings = Settings { merge: !arguments.no_merge, ..Settings::default() };
    let defines = super::defines(&arguments.define);
    let attach = super::attach(arguments.trust, arguments.define.clone());
    Ok(Box::new(PromelaFile::new(file.to_path_buf(), defines, settings).trust(attach)))
}
