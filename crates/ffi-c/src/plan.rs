//! The plan handle: how many records, pages and seconds a whole list takes, before it is read.

use crate::boundary::{get, guard_or, lent};
use crate::client::{Client, list};
use crate::error::Error;
use crate::parameters::Parameters;
use std::mem::MaybeUninit;
use talentdata_core::Plan as CorePlan;

/// An estimate of a scan or an export of a whole list. Freed with talentdata_plan_free.
pub struct Plan {
    inner: CorePlan,
}

/// Estimates the records, pages and time of a scan or an export of a whole list, before it is run. Fetches
/// one page.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param plan_out the estimate
/// Ownership: the caller frees `*plan_out` with talentdata_plan_free.
/// Threads: any; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL or an unknown list; those of a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_plan(
    client: Option<&Client>,
    resource: u32,
    plan_out: Option<&mut MaybeUninit<Box<Plan>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (plan_out, "plan_out"), |client| {
        let resource = list(resource)?;
        let inner = client.inner.clone().plan(resource)?;
        Ok(Box::new(Plan { inner }))
    })
}

/// Like talentdata_client_plan, with values of the list's parameters, such as filters.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param parameters the parameters
/// @param plan_out the estimate
/// Ownership: the caller frees `*plan_out` with talentdata_plan_free.
/// Threads: any; no other may change `parameters` meanwhile; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or parameters that the list does not take; those of a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_plan_with(
    client: Option<&Client>,
    resource: u32,
    parameters: Option<&Parameters>,
    plan_out: Option<&mut MaybeUninit<Box<Plan>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (plan_out, "plan_out"), |client| {
        let (resource, arguments) = (list(resource)?, lent(parameters, "parameters")?.arguments());
        let inner = client.inner.clone().plan_with(resource, arguments)?;
        Ok(Box::new(Plan { inner }))
    })
}

/// The number of records in the list, as the service reports it.
///
/// @param plan the plan
/// @param records_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_plan_records(
    plan: Option<&Plan>,
    records_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get((plan, "plan"), (records_out, "records_out"), |plan| {
        Ok(plan.inner.records)
    })
}

/// The number of page requests, if none has to be repeated.
///
/// @param plan the plan
/// @param pages_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_plan_pages(
    plan: Option<&Plan>,
    pages_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get((plan, "plan"), (pages_out, "pages_out"), |plan| {
        Ok(plan.inner.pages)
    })
}

/// The number of clients that share the request budget now, this one included.
///
/// @param plan the plan
/// @param members_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_plan_members(
    plan: Option<&Plan>,
    members_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get((plan, "plan"), (members_out, "members_out"), |plan| {
        Ok(plan.inner.members)
    })
}

/// The time that these requests take at the client's share of the request budget while as many clients share it, in
/// seconds.
///
/// @param plan the plan
/// @param seconds_out the time
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_plan_seconds(
    plan: Option<&Plan>,
    seconds_out: Option<&mut MaybeUninit<f64>>,
) -> Option<Box<Error>> {
    get((plan, "plan"), (seconds_out, "seconds_out"), |plan| {
        Ok(plan.inner.seconds)
    })
}

/// Frees a plan; does nothing when it is NULL.
///
/// Ownership: `plan` must not be used any more.
/// Threads: one at a time per plan.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_plan_free(plan: Option<Box<Plan>>) {
    guard_or((), || drop(plan));
}
