//! Regular expressions that accept exactly what the domain accepts, in the dialect of JSON Schema.

/// Ids chosen by the bot.
pub(crate) const SLUG: &str = "^[A-Za-z0-9_-]{1,64}$";
/// Hashes, in either letter case.
pub(crate) const HASH: &str = "^[0-9A-Fa-f]{64}$";
/// Text that every database can hold.
pub(crate) const WITHOUT_NUL: &str = "^[^\\u0000]*$";
/// Colours of roles.
pub(crate) const COLOUR: &str = "^#[0-9A-Fa-f]{6}$";

/// Returns a pattern for the decimal numbers from 1 to `largest`, without leading zeros.
pub(crate) fn from_one_to(largest: u64) -> String {
    format!("^({})$", alternatives(largest).join("|"))
}

/// Returns a pattern for the decimal numbers from 0 to `largest`, without leading zeros.
pub(crate) fn from_zero_to(largest: u64) -> String {
    format!("^(0|{})$", alternatives(largest).join("|"))
}

/// Returns a pattern for URLs that a browser can load: a name or an IP address, an optional port, and any path. It is
/// exact except for IPv6 addresses that end in an IPv4 one and for wrongly encoded internationalised names.
pub(crate) fn web_url() -> String {
    let byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    let name = r"([A-Za-z0-9_-]+\.)*[A-Za-z][A-Za-z0-9_-]*";
    let port = alternatives(u16::MAX.into()).join("|");
    let address = format!(r"({byte}\.){{3}}{byte}|\[({})\]", ipv6());
    format!(r"^[Hh][Tt][Tt][Pp][Ss]?://({name}|{address})(:({port}))?([/?#][!-~]*)?$")
}

/// Eight groups, or fewer with one `::` at the end, in the middle, or at the beginning.
fn ipv6() -> String {
    let group = "[0-9A-Fa-f]{1,4}";
    let mut forms = vec![format!("({group}:){{7}}{group}"), format!("({group}:){{1,7}}:")];
    forms.extend((1..7).map(|after| format!("({group}:){{1,{}}}(:{group}){{1,{after}}}", 7 - after)));
    forms.push(format!(":((:{group}){{1,7}}|:)"));
    forms.join("|")
}

/// Shorter numbers; then, for each digit, the numbers with the same prefix and a smaller digit there; then `largest` itself.
fn alternatives(largest: u64) -> Vec<String> {
    let digits = largest.to_string();
    let mut alternatives = vec![match digits.len() {
        0 | 1 => String::new(),
        2 => "[1-9]".to_owned(),
        length => format!("[1-9][0-9]{{0,{}}}", length - 2),
    }];
    for (position, digit) in digits.bytes().enumerate() {
        let lowest = if position == 0 { b'1' } else { b'0' };
        if digit > lowest {
            let (shared, rest) = (digits.get(..position).unwrap_or_default(), digits.len() - position - 1);
            let (lowest, below) = (char::from(lowest), char::from(digit - 1));
            let smaller = if lowest == below { lowest.to_string() } else { format!("[{lowest}-{below}]") };
            let rest = match rest {
                0 => String::new(),
                1 => "[0-9]".to_owned(),
                rest => format!("[0-9]{{{rest}}}"),
            };
            alternatives.push(format!("{shared}{smaller}{rest}"));
        }
    }
    alternatives.push(digits);
    alternatives.retain(|alternative| !alternative.is_empty());
    alternatives
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::model::{ShardId, UserId, WebUrl};
    use serde_json::json;

    fn accepts(pattern: &str, text: &str) -> bool {
        jsonschema::is_valid(&json!({"pattern": pattern}), &json!(text))
    }

    #[test]
    fn matches_exactly_the_numbers_up_to_the_largest() {
        for largest in [1, 5, 9, 10, 42, 99, 100, 1090, 2000] {
            let [from_one, from_zero] = [from_one_to(largest), from_zero_to(largest)]
                .map(|pattern| jsonschema::validator_for(&json!({"pattern": pattern})).unwrap());
            for number in 0..=2100 {
                let text = json!(number.to_string());
                assert_eq!(
                    from_one.is_valid(&text),
                    (1..=largest).contains(&number),
                    "{number} of {largest}"
                );
                assert_eq!(from_zero.is_valid(&text), number <= largest, "{number} of {largest}");
            }
        }
    }

    #[test]
    fn id_patterns_agree_with_the_domain() {
        let (users, shards) = (from_one_to(u64::MAX), from_zero_to(u32::MAX.into()));
        let numbers = "0 1 01 -1 +1 1.0 9999999999999999999 10000000000000000000 18446744073709551614 \
            18446744073709551615 18446744073709551616 18446744073709551700 18446744080000000000 \
            20000000000000000000 99999999999999999999 100000000000000000000 4294967294 4294967295 4294967296 \
            5000000000 999999999 00";
        for text in numbers.split_whitespace().chain(["", " 1", "1 "]) {
            assert_eq!(accepts(&users, text), text.parse::<UserId>().is_ok(), "{text}");
            assert_eq!(accepts(&shards, text), text.parse::<ShardId>().is_ok(), "{text}");
        }
    }

    #[test]
    fn url_pattern_agrees_with_the_domain() {
        let pattern = web_url();
        let accepted = r##"https://cdn.example/icons/1.png http://127.0.0.1:8082/a?b#c http://localhost https://a-b.c?x
            HTTPS://A.example:65535/[]{}|\^`"<>% http://0.0.0.0/ https://1a.b1/# http://a.b.c.d.e/ http://_a.-b-.c_-
            https://xn--bcher-kva.example:65535#a https://[::1]:8443?a HTTPS://[::1]:8443/%20?a=b#c http://[::]
            http://[1:2:3:4:5:6:7:8] http://[1:2:3:4:5:6:7::] http://[::2:3:4:5:6:7:8] http://[1::3:4:5:6:7:8] http://[1:2::7:8]"##;
        let refused = r"http://[]/ http://[:]/ http://[1:2:3:4:5:6:7]/ http://[1:2:3:4:5:6:7:8:9]/
            http://[1:2:3:4::5:6:7:8:9]/ http://[1::2::3]/ http://[12345::]/ http://::1/ ftp://a https:// https:///a //a a
            https://a/ü https://1.2.3.4.5 https://1.2.3.04 https://1.2.3.256 https://250.149.109.68* https://a:65536
            https://a:01 https://a: https://a:0/ https://a:+1/ https://u@a https://u:p@a/ https://a. https://.a
            https://a..b https://a\b https://a*/ https://0x7f.1/ https://[::1/ a.example/a /a //a.example/a https:a.example
            javascript:alert(1) javascript://a.example/%0aalert(1) data:image/png;base64,AA==";
        let refused = refused.split_whitespace().chain(["", "https://a b"]).map(|text| (text, false));
        for (text, expected) in accepted.split_whitespace().map(|text| (text, true)).chain(refused) {
            let found = (accepts(&pattern, text), text.parse::<WebUrl>().is_ok());
            assert_eq!(found, (expected, expected), "{text}");
        }
    }
}
