//! `companion reseal`.

use super::{
    output::{Progress, counted, print},
    stored::with_storage,
};
use crate::{
    composition::{self, Keys},
    configuration::Configuration,
    error::{ProgramError, cannot, failed},
    system::{SystemClock, SystemEntropy},
};
use companion_domain::{
    port::Entropy,
    usecase::{ResealGrants, Resealed},
};
use std::sync::Arc;

pub(super) fn run(configuration: &Configuration) -> Result<(), ProgramError> {
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let keys = match Keys::existing_ring(configuration) {
        Err(refused @ ProgramError::Refused(_)) => return Err(refused),
        // If the database is missing too, its own error below is the more useful one.
        found => found,
    };
    let sum = with_storage(configuration, async |storage| {
        let keys = keys?;
        let vault = composition::vault(&keys, &entropy);
        let reseal = ResealGrants::new(storage.stores().grants, vault, Arc::new(SystemClock));
        let mut progress = Progress::new("looked at");
        let mut seen = 0;
        let done = reseal
            .reseal(|sum| {
                progress.add(usize::try_from(sum.total() - seen).unwrap_or(usize::MAX));
                seen = sum.total();
            })
            .await;
        progress.finish();
        done.map_err(|error| cannot("reseal", &error))
    })?;
    let Resealed { resealed, untouched, busy, corrupt } = sum;
    let resealed = counted(resealed, "grant");
    print(&format!(
        "{resealed} sealed again, {untouched} needed nothing, {busy} were in use, {corrupt} could not be opened\n"
    ))?;
    match (busy, corrupt) {
        (0, 0) => Ok(()),
        (_, 0) => Err(failed("some grants were in use; run it again")),
        _ => Err(failed(
            "some grants cannot be opened: add the key that sealed them to secrets.key; without it their users sign \
             in again",
        )),
    }
}
