//! Prints the name of every contact, then a summary of the scan.

use talentdata_core::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    // Settings come from the environment, and otherwise from the profile file.
    let client = Client::builder().build()?;
    let mut contacts = client.contacts().list();
    while let Some(contact) = contacts.next().await {
        let contact = contact?;
        println!("{} {}", contact.first_name, contact.last_name);
    }
    let receipt = contacts.receipt();
    eprintln!("{} contacts, {:?}", receipt.records, receipt.completeness);
    Ok(())
}
