//! Looks names up in the service's lists (service.md 4.2) before a request is paid for: an unknown symbol or coin is
//! charged in full and answered with nothing, and a block size that does not fit is refused.
//!
//! A list weighs nothing, is fetched once for each type and exchange (block sizes: for each market) and cached. If a
//! list cannot be fetched within seconds, nothing is refused, and it is not fetched again for some minutes.

mod block_size;
mod channel;
pub(super) mod fetch;
mod names;

use futures::future;

use self::block_size::BlockSizeLookup;
use self::names::NameLookup;
use super::archive_writes::blocking;
use super::error::ClientError;
use super::inner::{Client, ClientInner};
use super::listed::Listed;
use super::request::PointsRequest;
use crate::archive::points::{Archive, ArchiveKey, gaps};
use crate::clock::UnixNanos;

impl Client {
    /// Looks up a request's symbol or coin, and its block size, in the cached lists. Sends nothing. `None` if a list
    /// must be fetched.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for a name that the service does not have, and for a block size that is not
    /// a multiple of the recommended one (supplement 9), each with the nearest valid one.
    pub fn listed(&self, request: &PointsRequest) -> Result<Option<Listed>, ClientError> {
        let inner = &self.inner;
        let named = match inner.name_lookup(request) {
            Some(question) => inner.listings.names.cached(&question).transpose()?,
            None => Some(Listed::Unknown),
        };
        let sized = match inner.size_lookup(request) {
            Some(question) => inner.listings.sizes.cached(&question).transpose()?,
            None => Some(Listed::Unknown),
        };
        Ok(named.filter(|_| sized.is_some()))
    }

    /// As [`Client::listed`], fetching lists where needed: requests of weight 0, for at most two seconds.
    /// [`Listed::Unknown`] if a list cannot be fetched. Nothing is fetched for a request that would send nothing at
    /// `now`, such as one that is archived: in the client's archive, or in `archive` if given.
    ///
    /// # Errors
    /// As [`Client::listed`].
    pub async fn look_up(
        &self,
        request: &PointsRequest,
        now: UnixNanos,
        archive: Option<&Archive>,
    ) -> Result<Listed, ClientError> {
        if let Some(known) = self.listed(request)? {
            return Ok(known);
        }
        let inner = &self.inner;
        if !inner.sends(request, now, archive).await {
            return Ok(Listed::Unknown);
        }
        let named = async {
            match inner.name_lookup(request) {
                Some(question) => inner.listings.names.ask(&**inner, &question).await,
                None => Ok(Listed::Unknown),
            }
        };
        let sized = async {
            match inner.size_lookup(request) {
                Some(question) => inner.listings.sizes.ask(&**inner, &question).await,
                None => Ok(Listed::Unknown),
            }
        };
        let (named, sized) = future::join(named, sized).await;
        let named = named?; // a wrong name is reported before a wrong block size
        sized.map(|_| named)
    }
}

impl ClientInner {
    fn name_lookup<'a>(&self, request: &'a PointsRequest) -> Option<NameLookup<'a>> {
        NameLookup::of(&request.query).filter(|_| self.check_symbols)
    }

    fn size_lookup(&self, request: &PointsRequest) -> Option<BlockSizeLookup> {
        BlockSizeLookup::of(&request.query, request.usd()).filter(|_| !self.any_block_size)
    }

    /// Whether a request sends anything, as far as can be known without sending.
    async fn sends(&self, request: &PointsRequest, now: UnixNanos, archive: Option<&Archive>) -> bool {
        let window = request.window(now, self.tier);
        if window.is_empty() {
            return false;
        }
        // A request that the client refuses costs nothing either, and has its own error.
        if self.tier.is_some_and(|tier| request.check_walls(tier, window, now).is_err()) {
            return false;
        }
        let Some(archive) = archive.or(self.archive.as_ref()) else { return true };
        let Some(key) = ArchiveKey::new(&self.source, &request.query) else { return true };
        match blocking(archive, &key, Archive::asked).await {
            Ok(asked) => !gaps(&asked, window).is_empty(),
            Err(_) => false, // reported by the call itself
        }
    }
}
