//! Until when a certificate is valid. Nothing else of it is looked at, so a few lines do.

use companion_domain::model::Timestamp;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// When a certificate in DER ends; nothing where it cannot be read.
pub(crate) fn ends_at(certificate: &[u8]) -> Option<Timestamp> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (tag, validity, _) = element(rest)?;
    let (_, _, after_beginning) = element(validity)?;
    let (kind, end, _) = element(after_beginning)?;
    if tag == SEQUENCE { seconds(kind, std::str::from_utf8(end).ok()?) } else { None }
}

/// The tag and the content of the first element, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ 0..=0x7f => (short, rest),
        long => {
            let (digits, rest) =
                rest.split_at_checked(long - 0x80).filter(|(digits, _)| digits.len() <= 4)?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn seconds(kind: u8, text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix('Z').filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (year, rest) = match kind {
        UTC_TIME => {
            let (year, rest) = digits.split_at_checked(2)?;
            let year: i64 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = digits.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let part = |place: usize| rest.get(2 * place..2 * place + 2)?.parse::<i64>().ok();
    let days = days_since_1970(year, part(0)?, part(1)?);
    let seconds = ((days * 24 + part(2)?) * 60 + part(3)?) * 60 + part(4)?;
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?))
}

/// In the calendar that all of the world counts by, with years that begin in March so that a leap day is the last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    #[test]
    fn the_end_is_read_in_both_spellings() {
        for ((year, month, day), seconds) in [
            ((2024, 2, 29), 1_709_164_800),
            ((2026, 11, 16), 1_794_787_200),
            ((1999, 12, 31), 946_598_400),
            ((2049, 12, 31), 2_524_521_600),
            ((2050, 1, 1), 2_524_608_000),
            ((2100, 3, 1), 4_107_542_400),
        ] {
            let mut parameters = CertificateParams::new(["localhost".to_owned()]).unwrap();
            parameters.not_before = date_time_ymd(1990, 1, 1);
            parameters.not_after = date_time_ymd(year, month, day);
            let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
            assert_eq!(
                ends_at(certificate.der()),
                Some(Timestamp::from_micros(seconds * 1_000_000)),
                "{year}"
            );
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        for bytes in [&b""[..], b"\x30", b"\x30\x05abc", b"\x30\x84\xff\xff\xff\xff", b"no certificate"] {
            assert_eq!(ends_at(bytes), None);
        }
    }
}
