//! Calls each new operation from Rust.

use talentdata_columns::export::{Export, Format, KeptWork, Target};
use talentdata_core::types::{
    ContactSearch, GetContactOptions, ListContactsOptions, ListProjectsOptions, Place, ListName,
};
use talentdata_core::{Arguments, Client, Error, ErrorKind, Result, ScanOptions, blocking};

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::builder().build()?;
    let first = client.contacts().page(Some(1), 0).await?;
    let id = &first.records[0].id;
    let options = GetContactOptions {
        include: vec!["pools".to_owned(), "a&b".to_owned()],
        depth: Some(2),
        x_trace: Some("trial".to_owned()),
    };
    let contact = client.get_contact(id, &options).await?;
    assert_eq!((&contact.id, &contact.email), (id, &first.records[0].email));
    let search = ContactSearch {
        limit: Some(3),
        states: vec!["active".into(), "left".into()],
        place: Some(Place {
            name: "Utrecht".to_owned(),
            within: None,
        }),
        match_: Some(7.into()),
    };
    let found = client.search_contacts(&search).await?;
    assert!(!found.contacts.is_empty() && found.pagination.total >= 0);
    client.delete_pool("any/../pool").await?;
    let empty = refused(client.get_contact("", &options).await);
    assert_eq!(empty.kind(), ErrorKind::InvalidArgument);
    assert_eq!(empty.message(), "id: must not be empty");
    assert!(client.teams().page(None, 0).await?.pagination.total >= Some(0));
    let over = refused(client.contacts().page(Some(251), 0).await);
    assert_eq!(over.kind(), ErrorKind::InvalidArgument);
    let most = client.contacts().page(Some(250), 0).await?;
    assert_eq!(most.pagination.limit, Some(250));
    filters(&client).await?;
    let waits = std::thread::spawn(move || {
        let client = blocking::Client::new(&blocking::Client::builder())?;
        let found = client.search_contacts(&search)?;
        client.delete_pool("one")?;
        Ok(found.contacts.len())
    });
    assert_eq!(waits.join().unwrap()?, found.contacts.len());
    Ok(())
}

fn refused<T>(result: Result<T>) -> Error {
    result.map(drop).unwrap_err()
}

/// Reads lists with parameters, which the service requires for every page.
async fn filters(client: &Client) -> Result<()> {
    let (region, options) = (
        "eu".into(),
        ListProjectsOptions {
            updated_since: Some("2026-01-01T00:00:00Z".to_owned()),
            state: vec!["open".into(), "shut".into()],
            min_size: Some(0),
            format: Some("long".into()),
            x_tenant: Some("mine".to_owned()),
        },
    );
    let mut scan = client.projects_with(&region, &options).list();
    let mut count = 0;
    while let Some(project) = scan.next().await {
        project?;
        count += 1;
    }
    let parameters = &scan.receipt().parameters;
    assert_eq!((count, &parameters["region"]), (600, &"eu".into()));
    let tenant = parameters["X-Tenant"].as_str();
    assert!(tenant.is_some_and(|hash| hash.starts_with("hash ")));
    let page = client.projects(&region).page(None, 0).await?;
    assert_eq!(page.pagination.total, Some(600));
    let missing = refused(client.resource(ListName::Projects).page(None, 0).await);
    assert_eq!(missing.kind(), ErrorKind::InvalidArgument);
    assert_eq!(missing.message(), "region: is required");
    let since = |text: &str| {
        client.contacts_with(&ListContactsOptions {
            updated_since: Some(text.to_owned()),
        })
    };
    let page = since("2026-01-01T00:00:00Z").page(Some(1), 0).await?;
    assert!(page.pagination.total > Some(0));
    let wrong = refused(since("yesterday").page(None, 0).await);
    assert_eq!(wrong.kind(), ErrorKind::BadRequest);
    resumed(client).await
}

/// Checks that a stopped export continues only with the same filter.
async fn resumed(client: &Client) -> Result<()> {
    let directory = std::env::temp_dir().join(format!("talentdata-trial-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("projects.jsonl");
    let export = |region: &str, kept: KeptWork| {
        let arguments = Arguments::default().with("region", region);
        let scan = ScanOptions::default().with_arguments(arguments).with_page_size(100);
        let target = Target::File(path.clone());
        Export::new(ListName::Projects, Format::Jsonl, target).with_scan(scan).with_kept(kept)
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut stop = Some(stop);
    let end = async { drop(stopped.await) };
    let error = refused(export("eu", KeptWork::Refuse).run(client, end, |_| drop(stop.take())).await);
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let never = std::future::pending;
    let error = refused(export("us", KeptWork::Refuse).run(client, never(), |_| ()).await);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("parameters"), "{error}");
    let receipt = export("eu", KeptWork::Resume).run(client, never(), |_| ()).await?;
    assert_eq!((receipt.records, receipt.resumed), (600, 1));
    std::fs::remove_dir_all(&directory).unwrap();
    Ok(())
}
