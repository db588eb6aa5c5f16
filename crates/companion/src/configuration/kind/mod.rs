//! The types of values that only the configuration has. Each file reads, checks and shows one.

mod key_list;
mod listen_address;
mod scoped_keys;
mod storage_url;
mod web_address;

pub use self::{
    key_list::{Keyring, ManagementKey, ManagementKeys},
    listen_address::{AddressRange, ListenAddress},
    scoped_keys::{KeySource, ScopedKey, ScopedKeys},
    storage_url::StorageUrl,
    web_address::{RedirectUri, SiteUrl},
};
