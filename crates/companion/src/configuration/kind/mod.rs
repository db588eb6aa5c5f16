//! The types of values that only the configuration has. Each file reads, checks and shows one.

mod address_range;
mod byte_size;
mod choice;
mod client_id;
mod key_list;
mod listen_address;
mod origin;
mod redirect_uri;
mod storage_url;

pub use self::{
    address_range::AddressRange,
    byte_size::ByteSize,
    choice::{LogFormat, LogLevel, Provider},
    client_id::ClientId,
    key_list::{Keyring, ManagementKey, ManagementKeys},
    listen_address::ListenAddress,
    redirect_uri::RedirectUri,
    storage_url::StorageUrl,
};
