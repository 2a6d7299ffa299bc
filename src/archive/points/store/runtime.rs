//! Where the conversations with object stores run: a thread of their own, so that archives are read and written from any
//! thread, with and without a runtime of its own, and so that a lock stays alive while its holder is busy.

use std::sync::{Mutex, PoisonError, mpsc};

use tokio::runtime::{Builder, Handle, Runtime};

/// One runtime a process, made at the first call; a forked child needs its own, because threads do not survive a fork.
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
    // To drop the parent's would be to wait for threads that are not there.
    std::mem::forget(slot.replace((own, runtime)));
    Ok(handle)
}

/// Runs a future to its end while this thread waits; never called on a thread that runs futures itself.
///
/// # Errors
/// The system has no thread left for it, or the work was broken off.
pub(super) fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> std::io::Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    handle()?.spawn(async move {
        let _ = sender.send(future.await);
    });
    receiver.recv().map_err(|_| std::io::Error::other("the conversation with the store was broken off"))
}

/// Lets a future run beside everything else.
pub(super) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
    handle()?.spawn(future);
    Ok(())
}
