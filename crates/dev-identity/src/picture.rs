//! Small pictures derived from a name: the same name gives the same picture.

use miniz_oxide::deflate::compress_to_vec_zlib;
use sha2::{Digest, Sha256};

/// Blocks per row and column. The pattern is mirrored, and taken from the digest.
const BLOCKS: usize = 5;
const BLOCK: usize = 16;
const SIDE: usize = BLOCKS * BLOCK;
const COMPRESSION: u8 = 6;

/// Returns a PNG.
pub(crate) fn png(name: &str) -> Vec<u8> {
    let digest: [u8; 32] = Sha256::digest(name).into();
    let [red, green, blue, pattern @ ..] = digest;
    let mut rows = Vec::with_capacity(SIDE * (1 + SIDE / 8));
    for y in 0..SIDE {
        rows.push(0);
        // One bit per pixel; a block is two bytes wide.
        let blocks = (0..BLOCKS).map(|column| block_is_set(&pattern, column, y / BLOCK));
        rows.extend(blocks.flat_map(|is_set| [if is_set { 0xff } else { 0 }; BLOCK / 8]));
    }

    let side = u8::try_from(SIDE).unwrap_or(u8::MAX);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    // One bit per pixel, as an index into the palette.
    chunk(&mut png, b"IHDR", &[0, 0, 0, side, 0, 0, 0, side, 1, 3, 0, 0, 0]);
    chunk(&mut png, b"PLTE", &[0xf2, 0xf2, 0xf4, red, green, blue]);
    chunk(&mut png, b"IDAT", &compress_to_vec_zlib(&rows, COMPRESSION));
    chunk(&mut png, b"IEND", &[]);
    png
}

fn block_is_set(pattern: &[u8], column: usize, row: usize) -> bool {
    let mirrored = column.min(BLOCKS - 1 - column);
    pattern.get(row * BLOCKS + mirrored).is_some_and(|byte| byte & 1 == 1)
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(0);
    let body = [kind.as_slice(), data].concat();
    png.extend(length.to_be_bytes());
    png.extend(&body);
    png.extend(crc32(&body).to_be_bytes());
}

fn crc32(data: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !data.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_own_picture() {
        // The check value of the standard.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(png("one"), png("one"));
        assert_ne!(png("one"), png("other"));
        assert!(png("one").starts_with(b"\x89PNG") && png("one").ends_with(b"IEND\xae\x42\x60\x82"));
    }
}
