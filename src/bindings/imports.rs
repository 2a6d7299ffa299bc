//! What the engine uses of Python's modules, found once.
//!
//! Python's code runs meanwhile, and in the main thread a handler of a signal among it, which may call the engine itself. So no lock is
//! held then: the handler would wait for what it interrupted.

use std::thread;

use numpy::PyUntypedArray;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{PyTypeInfo, intern};

/// What `cell` holds: what `find` finds at the first call.
pub(super) fn found_once<'py, T>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<T>>,
    find: impl FnOnce() -> PyResult<Bound<'py, T>>,
) -> PyResult<&'py Bound<'py, T>> {
    let found = match cell.get(py) {
        Some(found) => found,
        None => {
            let found = find()?.unbind();
            cell.get_or_init(py, || found)
        }
    };
    Ok(found.bind(py))
}

/// Imports NumPy and its table of C functions, once. rust-numpy would do so at the first array, under a lock, and panic if that
/// fails, as by Ctrl-C.
///
/// In a thread of its own, where no handler of a signal runs: a Ctrl-C would leave NumPy half imported. A module of the user that
/// calls the engine while it is imported gets NumPy itself first: the other thread would wait for that module if NumPy, or what it
/// needs, imported one of its name.
///
/// # Errors
/// `ImportError` without a NumPy that works, or in a handler of a signal that came while this thread was importing it.
#[pyfunction]
pub(super) fn load_numpy(py: Python<'_>) -> PyResult<()> {
    static THERE: PyOnceLock<()> = PyOnceLock::new();
    if THERE.get(py).is_some() {
        return Ok(());
    }
    py.check_signals()?;
    if is_importing(py)? && is_half_imported(&py.import("numpy")?) {
        return Err(PyImportError::new_err("NumPy is not imported yet: a handler of a signal came while it was"));
    }
    let import = || Python::attach(import_numpy);
    let imported = py.detach(|| match thread::Builder::new().name("marketpoints".to_owned()).spawn(import) {
        Ok(thread) => thread.join().ok(),
        Err(_) => Some(import()), // no thread can be had
    });
    imported.unwrap_or_else(|| Err(PyImportError::new_err("NumPy's C functions cannot be found")))?;
    let _ = THERE.set(py, ());
    Ok(())
}

fn import_numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy")?;
    PyUntypedArray::type_object(py); // the first use of the table
    Ok(())
}

/// Whether the import of a module is under way in this thread: an import waits for the end of another thread's.
fn is_half_imported(module: &Bound<'_, PyModule>) -> bool {
    let spec = module.getattr(intern!(module.py(), "__spec__"));
    let initializing = spec.and_then(|spec| spec.getattr(intern!(module.py(), "_initializing"))?.is_truthy());
    initializing.unwrap_or(false)
}

/// Whether this thread is in the midst of any import.
fn is_importing(py: Python<'_>) -> PyResult<bool> {
    let Ok(mut frame) = py.import("sys")?.getattr("_getframe")?.call0() else {
        return Ok(false); // a thread of the engine, in which no Python code runs
    };
    while !frame.is_none() {
        let file: String = frame.getattr("f_code")?.getattr("co_filename")?.extract()?;
        if file.starts_with("<frozen importlib") {
            return Ok(true);
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(false)
}
