//! Opening files that are read again and again while the service runs.

use rustix::fs::OFlags;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Opens a regular file for reading. Symlinks are followed, as secrets of Kubernetes are symlinks.
///
/// # Errors
///
/// Anything but a regular file is refused, without waiting for it: a FIFO without a writer would block its reader for ever, and
/// a device may have no end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let non_blocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(non_blocking).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn a_fifo_a_folder_and_a_device_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
        let link = folder.path().join("link");
        symlink(&fifo, &link).unwrap();
        for path in [&*fifo, &link, folder.path(), Path::new("/dev/zero")] {
            let refused = open(path).unwrap_err();
            assert_eq!(refused.to_string(), "it is not a regular file", "{}", path.display());
        }
    }

    #[test]
    fn a_symlink_to_a_file_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "content").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(io::read_to_string(open(&link).unwrap()).unwrap(), "content");
    }
}
