//! The runtime for object stores: a thread of its own, so that archives can be used from any thread, inside and outside
//! of a runtime, and so that leases are renewed while their holder is busy.

use std::sync::{Mutex, PoisonError, mpsc};

use futures::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};

/// One runtime per process, made at the first call; a forked child needs its own, because threads do not survive a
/// fork.
static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

fn handle() -> std::io::Result<Handle> {
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let own = std::process::id();
    if let Some((pid, runtime)) = slot.as_ref()
        && *pid == own
    {
        return Ok(runtime.handle().clone());
    }
    let runtime =
        Builder::new_multi_thread().worker_threads(1).thread_name("marketpoints-store").enable_all().build()?;
    let handle = runtime.handle().clone();
    // Dropping the parent's runtime would wait for threads that do not exist here.
    std::mem::forget(slot.replace((own, runtime)));
    Ok(handle)
}

/// Runs a future to completion, blocking this thread; must not be called on a thread that runs futures.
///
/// # Errors
/// The system cannot start a thread, or the work was cancelled.
pub(super) fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> std::io::Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    spawn(async move {
        let _ = sender.send(future.await);
    })?;
    receiver.recv().map_err(|_| std::io::Error::other("the conversation with the store was broken off"))
}

/// Spawns a future; in a box, so that what runs it is compiled once.
pub(super) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
    handle()?.spawn(future.boxed());
    Ok(())
}
