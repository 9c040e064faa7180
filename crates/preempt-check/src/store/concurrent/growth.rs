//! Work that one thread hands out while the others wait: their cores are free.

/// Has `work` done for the parts 0, 1, …, each by a thread of its own, and collects what they give. Where the system gives
/// no thread for a part, this one does it.
pub(crate) fn in_parts<R: Send>(parts: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let work = &work;
        let spawn =
            |part: usize| std::thread::Builder::new().spawn_scoped(scope, move || work(part));
        let helpers: Vec<_> = (1..parts).map(|part| (part, spawn(part))).collect();
        let mut results = vec![work(0)];
        for (part, helper) in helpers {
            match helper.map(|helper| helper.join()) {
                Ok(Ok(result)) => results.push(result),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(_) => results.push(work(part)),
            }
        }
        results
    })
}
