//! Pictures of ragged levels as arrays. The levels are (N, 2): price and volume; or (N, 3): price and two volumes,
//! which are summed unless `field` selects one.

use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::errors;
use crate::clock::UnixNanos;
use crate::raster::{
    self as pixels, LevelSide, Packed, RaggedLevels, RasterError, Reduce, Regrouped, Viewport, VolumeField,
};

fn invalid(py: Python<'_>, problem: &RasterError) -> PyErr {
    errors::invalid(py, &problem.to_string())
}

fn find_reduce(py: Python<'_>, name: &str) -> PyResult<Reduce> {
    Ok(match name {
        "max" => Reduce::Max,
        "sum" => Reduce::Sum,
        "stack" => Reduce::Stack,
        "last" => Reduce::Last,
        _ => {
            return Err(errors::invalid(
                py,
                &format!("reduce: {name:?} is none of \"max\", \"sum\", \"stack\", \"last\""),
            ));
        }
    })
}

fn find_side(py: Python<'_>, name: &str) -> PyResult<LevelSide> {
    Ok(match name {
        "both" => LevelSide::Both,
        "bids" => LevelSide::Bids,
        "asks" => LevelSide::Asks,
        _ => return Err(errors::invalid(py, &format!("side: {name:?} is none of \"both\", \"bids\", \"asks\""))),
    })
}

fn field_of(field: Option<usize>) -> VolumeField {
    field.map_or(VolumeField::All, VolumeField::At)
}

/// Calls a generic function with the levels as pairs or triples.
macro_rules! by_fields {
    ($py:expr, $levels:expr, |$some:ident| $call:expr) => {{
        let flat = $levels.as_slice()?;
        match $levels.shape()[1] {
            2 => {
                let $some: &[[f64; 2]] = flat.as_chunks().0;
                $call
            }
            3 => {
                let $some: &[[f64; 3]] = flat.as_chunks().0;
                $call
            }
            count => Err(errors::invalid($py, &format!("levels: {count} numbers a level; it must be 2 or 3"))),
        }
    }};
}

/// The pixels of a window of time and prices: float32 (height, width).
#[pyfunction]
#[pyo3(signature = (
    offsets, levels, starts, ends, *, window, prices, size, step, split = None, field = None, reduce = "max", side = "both",
    packed = None
))]
pub(super) fn raster<'py>(
    py: Python<'py>,
    offsets: PyReadonlyArray1<'py, i64>,
    levels: PyReadonlyArray2<'py, f64>,
    starts: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
    window: (i64, i64),
    prices: (f64, f64),
    size: (usize, usize),
    step: f64,
    split: Option<PyReadonlyArray1<'py, i64>>,
    field: Option<usize>,
    reduce: &str,
    side: &str,
    packed: Option<PyRef<'py, PackedLevels>>,
) -> PyResult<Py<PyAny>> {
    let (reduce, side) = (find_reduce(py, reduce)?, find_side(py, side)?);
    let view = Viewport {
        start: UnixNanos(window.0),
        end: UnixNanos(window.1),
        low: prices.0,
        high: prices.1,
        width: size.0,
        height: size.1,
    };
    let (offsets, starts, ends) = (offsets.as_slice()?, starts.as_slice()?, ends.as_slice()?);
    let split = split.as_ref().map_or(Ok(&[][..]), |split| split.as_slice())?;
    let packed = packed.as_ref().and_then(|packed| packed.0.as_ref());
    let picture = by_fields!(py, levels, |levels| {
        let cells = RaggedLevels { levels, offsets, split, starts, ends, height: step, field: field_of(field), side };
        py.detach(|| pixels::raster(&cells, packed, &view, reduce)).map_err(|problem| invalid(py, &problem))
    })?;
    Ok(picture.into_pyarray(py).into_any().unbind())
}

/// Levels packed for repeated pictures; empty if that would take too much memory.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct PackedLevels(Option<Packed>);

#[pymethods]
impl PackedLevels {
    #[new]
    #[pyo3(signature = (offsets, levels, step, *, split = None, field = None))]
    fn new(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, i64>,
        levels: PyReadonlyArray2<'_, f64>,
        step: f64,
        split: Option<PyReadonlyArray1<'_, i64>>,
        field: Option<usize>,
    ) -> PyResult<Self> {
        let offsets = offsets.as_slice()?;
        let split = split.as_ref().map_or(Ok(&[][..]), |split| split.as_slice())?;
        let made = by_fields!(py, levels, |levels| {
            let made = py.detach(|| Packed::new(levels, offsets, split, step, field_of(field)));
            made.map_err(|problem| invalid(py, &problem))
        })?;
        Ok(Self(made))
    }

    /// Size in bytes; 0 if the levels were not packed.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.as_ref().map_or(0, Packed::bytes)
    }
}

/// Lowest and highest price, and the smallest distance of neighbours in a row; infinite where there are none.
#[pyfunction]
pub(super) fn level_extent(
    py: Python<'_>,
    offsets: PyReadonlyArray1<'_, i64>,
    levels: PyReadonlyArray2<'_, f64>,
) -> PyResult<(f64, f64, f64)> {
    let offsets = offsets.as_slice()?;
    let found = by_fields!(py, levels, |levels| {
        py.detach(|| pixels::extent(levels, offsets)).map_err(|problem| invalid(py, &problem))
    })?;
    Ok((found.low, found.high, found.gap))
}

/// Quantiles of the volumes above 0.
#[pyfunction]
#[pyo3(signature = (levels, shares, field = None))]
pub(super) fn volume_quantiles(
    py: Python<'_>,
    levels: PyReadonlyArray2<'_, f64>,
    shares: PyReadonlyArray1<'_, f64>,
    field: Option<usize>,
) -> PyResult<Py<PyAny>> {
    let shares = shares.as_slice()?;
    let found = by_fields!(py, levels, |levels| {
        py.detach(|| pixels::quantiles(levels, field_of(field), shares)).map_err(|problem| invalid(py, &problem))
    })?;
    Ok(found.into_pyarray(py).into_any().unbind())
}

/// Levels summed in price buckets: offsets, levels (N, 2) and bids of each row.
#[pyfunction]
#[pyo3(signature = (offsets, levels, step, *, split = None, field = None, side = "both"))]
pub(super) fn regroup(
    py: Python<'_>,
    offsets: PyReadonlyArray1<'_, i64>,
    levels: PyReadonlyArray2<'_, f64>,
    step: f64,
    split: Option<PyReadonlyArray1<'_, i64>>,
    field: Option<usize>,
    side: &str,
) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
    let (offsets, side) = (offsets.as_slice()?, find_side(py, side)?);
    let split = split.as_ref().map_or(Ok(&[][..]), |split| split.as_slice())?;
    let Regrouped { levels, offsets, split } = by_fields!(py, levels, |levels| {
        let made = py.detach(|| pixels::regroup(levels, offsets, split, step, field_of(field), side));
        made.map_err(|problem| invalid(py, &problem))
    })?;
    let levels = ndarray::Array2::from(levels);
    Ok((
        offsets.into_pyarray(py).into_any().unbind(),
        levels.into_pyarray(py).into_any().unbind(),
        split.into_pyarray(py).into_any().unbind(),
    ))
}
