//! Small pictures, drawn from a name: the same name gives the same picture.

use flate2::{Compression, Crc, write::ZlibEncoder};
use sha2::{Digest, Sha256};
use std::io::Write;

/// Five by five blocks, mirrored, as the digest has it.
const BLOCKS: usize = 5;
const BLOCK: usize = 16;
const SIDE: usize = BLOCKS * BLOCK;

/// A still picture.
pub(crate) fn png(name: &str) -> Vec<u8> {
    let digest: [u8; 32] = Sha256::digest(name).into();
    let [red, green, blue, pattern @ ..] = digest;
    let mut rows = Vec::with_capacity(SIDE * (SIDE + 1));
    for y in 0..SIDE {
        rows.push(0);
        rows.extend((0..SIDE).map(|x| block_is_set(&pattern, x / BLOCK, y / BLOCK)));
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let data = encoder.write_all(&rows).and_then(|()| encoder.finish()).unwrap_or_default();

    let side = u8::try_from(SIDE).unwrap_or(u8::MAX);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    // Eight bits a pixel, each a place in the palette.
    chunk(&mut png, b"IHDR", &[0, 0, 0, side, 0, 0, 0, side, 8, 3, 0, 0, 0]);
    chunk(&mut png, b"PLTE", &[0xf2, 0xf2, 0xf4, red, green, blue]);
    chunk(&mut png, b"IDAT", &data);
    chunk(&mut png, b"IEND", &[]);
    png
}

/// A picture of the kind that may move; this one has a single frame of a single colour.
pub(crate) fn gif(name: &str) -> Vec<u8> {
    let digest: [u8; 32] = Sha256::digest(name).into();
    let [red, green, blue, ..] = digest;
    let mut gif = b"GIF89a\x01\x00\x01\x00\x80\x00\x00".to_vec();
    gif.extend([red, green, blue, 0, 0, 0]);
    gif.extend(b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b");
    gif
}

fn block_is_set(pattern: &[u8], column: usize, row: usize) -> u8 {
    let mirrored = column.min(BLOCKS - 1 - column);
    pattern.get(row * BLOCKS + mirrored).copied().unwrap_or(0) & 1
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(0);
    let mut sum = Crc::new();
    sum.update(kind);
    sum.update(data);
    png.extend(length.to_be_bytes());
    png.extend(kind);
    png.extend(data);
    png.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_picture_of_its_own() {
        assert_eq!(png("one"), png("one"));
        assert_ne!(png("one"), png("other"));
        assert_ne!(gif("one"), gif("other"));
        assert!(png("one").starts_with(b"\x89PNG") && png("one").ends_with(b"IEND\xae\x42\x60\x82"));
        assert!(gif("one").starts_with(b"GIF89a") && gif("one").ends_with(b"\x3b"));
    }
}
