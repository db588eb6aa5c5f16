//! The types of values that only the configuration has. Each file reads, checks and shows one.

mod byte_size;
mod choice;
mod key_list;
mod listen_address;
mod scoped_keys;
mod storage_url;
mod text;
mod web_address;

pub use self::{
    byte_size::ByteSize,
    choice::{LogFormat, LogLevel, Provider},
    key_list::{Keyring, ManagementKey, ManagementKeys},
    listen_address::{AddressRange, ListenAddress},
    scoped_keys::{KeySource, ScopedKey, ScopedKeys},
    storage_url::StorageUrl,
    text::{ClientId, DisplayName, FilePath},
    web_address::{RedirectUri, SiteUrl},
};
