//! The types of values that only the configuration has. Each file reads, checks and shows one.

mod address_range;
mod byte_size;
mod choice;
mod client_id;
mod display_name;
mod file_path;
mod key_list;
mod listen_address;
mod origin;
mod redirect_uri;
mod scoped_keys;
mod site_url;
mod storage_url;

pub use self::{
    address_range::AddressRange,
    byte_size::ByteSize,
    choice::{LogFormat, LogLevel, Provider},
    client_id::ClientId,
    display_name::DisplayName,
    file_path::FilePath,
    key_list::{Keyring, ManagementKey, ManagementKeys},
    listen_address::ListenAddress,
    redirect_uri::RedirectUri,
    scoped_keys::{KeySource, ScopedKey, ScopedKeys},
    site_url::SiteUrl,
    storage_url::StorageUrl,
};
