//! Records and streams of records.

use companion_domain::model::Mistake;
use companion_records::{
    Accepted, BlockedRecord, ClusterReport, FeedbackRecord, GuildRecord, Lines, MemberRecord, Record,
    StaffRecord, SubscriptionRecord, Team, read_body, write_line,
};
use companion_testkit::{
    api::sample,
    hostile::{Hostile, count},
};
use serde_json::{Value, json};

const USUAL: u64 = 3000;

/// A line of each kind that an export has.
fn lines() -> Vec<String> {
    let session = json!({
        "kind": "session", "id": "0".repeat(64), "user": "1", "created_at": 1_767_000_000, "last_seen_at": 1_767_000_001,
    });
    let grant = json!({"kind": "grant", "user": "1", "version": 1, "guilds": []});
    sample::world().iter().chain([&session, &grant]).map(Value::to_string).collect()
}

#[test]
fn hostile_lines_are_records_that_can_be_written_again_or_mistakes_with_a_place() {
    let mut hostile = Hostile::new(&lines(), 1);
    let inputs = count(USUAL, 20_000_000);
    let mut taken = 0_u64;
    for number in 0..inputs {
        let accepted = if number % 2 == 0 { Accepted::World } else { Accepted::Archive };
        let mut stream = Lines::new(accepted);
        let input = hostile.bytes();
        let whole = stream.take(input).and_then(|records| Ok((records, stream.finish()?)));
        let Ok((records, last)) = whole else { continue };
        for numbered in records.into_iter().chain(last) {
            let line = write_line(numbered.record.clone());
            let again = Lines::new(accepted).take(line.as_bytes()).unwrap();
            assert_eq!(again.first().map(|again| &again.record), Some(&numbered.record), "{line}");
            taken += 1;
        }
    }
    println!(
        "hostile: {inputs} lines, {taken} records among them, each the same when written and read: no panic"
    );
    assert!(taken > inputs / 20, "{taken}");
}

#[test]
fn hostile_streams_give_the_same_records_however_they_are_cut() {
    let stream = lines()[..7].join("\n");
    let mut hostile = Hostile::new(&[stream.as_str(), &stream.replace('\n', "\r\n\n")], 2);
    let inputs = count(500, 1_000_000);
    let mut refused = 0_u64;
    for number in 0..inputs {
        let size = 1 + hostile.below(300);
        let bytes = hostile.bytes();
        let read = |size: usize| {
            let mut lines = Lines::new(Accepted::World);
            let mut records = Vec::new();
            for piece in bytes.chunks(size) {
                records.extend(lines.take(piece)?);
            }
            records.extend(lines.finish()?);
            Ok::<_, companion_domain::port::RefusedLine>(records)
        };
        let (whole, pieces) = (read(usize::MAX), read(size));
        assert_eq!(whole.is_ok(), pieces.is_ok(), "stream {number} in pieces of {size}");
        match (whole, pieces) {
            (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces),
            (Err(whole), Err(pieces)) => {
                refused += 1;
                assert_eq!(whole.to_string(), pieces.to_string());
            }
            _ => {}
        }
    }
    println!("hostile: {inputs} streams in pieces, {refused} refused at the same place as in one: no panic");
}

/// Reads damaged bodies of one record.
fn bodies<R: Record>(key: &str, samples: &[Value], full: u64) -> u64 {
    let samples: Vec<_> = samples.iter().map(Value::to_string).collect();
    let (mut hostile, mut keys) = (Hostile::new(&samples, 3), Hostile::new(&[key], 4));
    let inputs = count(USUAL / 6, full);
    for _ in 0..inputs {
        let body = serde_json::from_slice(hostile.bytes());
        let key = keys.text();
        explained(read_body::<R>(&|_| &key, &body));
    }
    inputs
}

/// What is refused is refused with words.
fn explained<T>(read: Result<T, Vec<Mistake>>) {
    if let Err(mistakes) = read {
        assert!(!mistakes.is_empty() && mistakes.iter().all(|mistake| !mistake.message.is_empty()));
    }
}

#[test]
fn hostile_bodies_are_taken_or_refused_with_words() {
    const EACH: u64 = 2_000_000;
    let mut inputs = bodies::<GuildRecord>("7", &[sample::guild()], EACH);
    inputs += bodies::<MemberRecord>("7", &[json!({"roles": ["70", "71"]})], EACH);
    inputs += bodies::<SubscriptionRecord>("5", &[json!({"guilds": ["7"], "slots": 2})], EACH);
    inputs += bodies::<StaffRecord>("5", &[json!({"permissions": ["SUPPORT", "FOUNDER"]})], EACH);
    inputs += bodies::<FeedbackRecord>("a-Z_9", &[sample::feedback()], EACH);
    inputs += bodies::<BlockedRecord>("5", &[json!({})], EACH);
    inputs += bodies::<ClusterReport>("east", &[sample::heartbeat("0", 1.5, 512.25)], EACH);
    let team = json!([sample::team_member("5", "Support"), sample::team_member("6", "Board")]).to_string();
    let mut hostile = Hostile::new(&[team], 5);
    for _ in 0..count(USUAL / 6, EACH) {
        explained(Team::read_body(&serde_json::from_slice(hostile.bytes())));
        inputs += 1;
    }
    println!("hostile: {inputs} bodies of eight records: no panic");
}
