//! Calls each new operation from Rust.

use talentdata_core::types::{ContactSearch, GetContactOptions, Place};
use talentdata_core::{Client, ErrorKind, Result, blocking};

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
    let error = client.get_contact("", &options).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, "id: must not be empty"));
    assert!(client.teams().page(None, 0).await?.pagination.total >= 0);
    let over = client.contacts().page(Some(251), 0).await.map(drop).unwrap_err();
    assert_eq!(over.kind(), ErrorKind::InvalidArgument);
    assert_eq!(client.contacts().page(Some(250), 0).await?.pagination.limit, 250);
    let waits = std::thread::spawn(move || {
        let client = blocking::Client::new(&blocking::Client::builder())?;
        let found = client.search_contacts(&search)?;
        client.delete_pool("one")?;
        Ok(found.contacts.len())
    });
    assert_eq!(waits.join().unwrap()?, found.contacts.len());
    Ok(())
}
