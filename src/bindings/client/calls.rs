//! The client's methods as futures: each is run by a blocking and by an async method. They are boxed where they arise: one is
//! kilobytes large, and would be copied from caller to caller.

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use pyo3::prelude::*;
use serde_json::Value;

use super::Client;
use crate::bindings::archive::Archive;
use crate::bindings::errors;
use crate::bindings::progress::{CallOutcome, progress_and_raised};
use crate::bindings::query::{MarketFilters, Query, analytics_query};
use crate::bindings::times::unix_nanos;
use crate::client::{Checked, ClientError, Each, Fetched, Listed, Synced};
use crate::clock::UnixNanos;
use crate::protocol::{AnalyticsAnswer, DiscoveryList, Filters, MarketListing, Weight};

/// Most queries whose lists are asked, and whose archive is read, at once.
const LOOKED_UP_AT_ONCE: usize = 8;

impl Client {
    pub(super) fn fetch_points(
        &self,
        py: Python<'_>,
        query: &Query,
        progress: Option<Py<PyAny>>,
        now: Option<f64>,
    ) -> PyResult<BoxFuture<'static, CallOutcome<Fetched>>> {
        let now = unix_nanos(py, now.map_or_else(|| self.now(py), Ok)?)?;
        let (client, request) = (self.client(py)?, query.0.clone());
        let (progress, raised) = progress_and_raised(progress);
        Ok(async move { CallOutcome::new(client.points_all(&request, now, progress).await, &raised).with_results() }
            .boxed())
    }

    pub(super) fn ask_listing(
        &self,
        py: Python<'_>,
        query: &Query,
        now: UnixNanos,
        archive: Option<&Archive>,
    ) -> PyResult<BoxFuture<'static, Result<Listed, ClientError>>> {
        let (client, request) = (self.client(py)?, query.0.clone());
        let archive = archive.map(|archive| archive.0.clone());
        Ok(async move { client.look_up_all(&request, now, archive.as_ref()).await }.boxed())
    }

    /// What the lists say of each query; what is refused as well.
    pub(super) fn ask_listings(
        &self,
        py: Python<'_>,
        queries: &[PyRef<'_, Query>],
        now: UnixNanos,
        archive: &Archive,
    ) -> PyResult<BoxFuture<'static, Vec<Result<Listed, ClientError>>>> {
        let every = queries.iter().map(|query| self.ask_listing(py, query, now, Some(archive)));
        let every = every.collect::<PyResult<Vec<_>>>()?;
        Ok(stream::iter(every).buffered(LOOKED_UP_AT_ONCE).collect().boxed())
    }

    pub(super) fn fetch_missing(
        &self,
        py: Python<'_>,
        query: &Query,
        archive: &Archive,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<BoxFuture<'static, CallOutcome<Each<Synced>>>> {
        let now = unix_nanos(py, self.now(py)?)?;
        let (client, request, archive) = (self.client(py)?, query.0.clone(), archive.0.clone());
        let (progress, raised) = progress_and_raised(progress);
        Ok(async move { CallOutcome::new(client.sync_all(&archive, &request, now, progress).await, &raised) }.boxed())
    }

    pub(super) fn fetch_again(
        &self,
        py: Python<'_>,
        query: &Query,
        archive: &Archive,
        replace: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<BoxFuture<'static, CallOutcome<Each<Checked>>>> {
        let now = unix_nanos(py, self.now(py)?)?;
        let (client, request, archive) = (self.client(py)?, query.0.clone(), archive.0.clone());
        let (progress, raised) = progress_and_raised(progress);
        Ok(async move {
            let answer = client.ask_again_all(&archive, &request, replace, now, progress).await;
            CallOutcome::new(answer, &raised)
        }
        .boxed())
    }

    pub(super) fn fetch_markets(
        &self,
        py: Python<'_>,
        filters: MarketFilters,
    ) -> PyResult<BoxFuture<'static, Result<Vec<MarketListing>, ClientError>>> {
        let (client, limit, query) = (self.client(py)?, filters.limit, filters.query(py)?);
        Ok(async move { client.markets(&query, limit).await }.boxed())
    }

    pub(super) fn fetch_list(
        &self,
        py: Python<'_>,
        list: &str,
        filters: Vec<(String, String)>,
    ) -> PyResult<BoxFuture<'static, Result<Value, ClientError>>> {
        let client = self.client(py)?;
        let problem = || errors::invalid(py, &format!("there is no discovery list {list:?}"));
        let list = DiscoveryList::find(list).ok_or_else(problem)?;
        let filters: Filters = filters.into_iter().collect();
        Ok(async move {
            match list {
                DiscoveryList::BlockSizes => client.block_sizes(&filters).await.map(Value::from),
                _ => client.names(list, &filters).await.map(Value::from),
            }
        }
        .boxed())
    }

    pub(super) fn fetch_analytics(
        &self,
        py: Python<'_>,
        endpoint: &str,
        parameters: Vec<(String, String)>,
        limit: Option<usize>,
        max_weight: Option<u64>,
    ) -> PyResult<BoxFuture<'static, Result<AnalyticsAnswer, ClientError>>> {
        let client = self.client(py)?;
        let query = analytics_query(py, endpoint, parameters)?;
        Ok(async move { client.analytics(&query, limit, max_weight.map(Weight)).await }.boxed())
    }
}
