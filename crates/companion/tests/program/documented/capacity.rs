//! The table of `docs/capacity.md` follows its formulas.

use super::page::text;

/// As the page writes it.
fn size(bytes: f64) -> String {
    if bytes >= 1e9 { format!("{:.1} GB", bytes / 1e9) } else { format!("{:.0} MB", bytes / 1e6) }
}

fn rate(number: f64) -> String {
    if number < 10.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}

/// A row by the formulas, under the assumptions that the page states.
fn row(users: f64, guilds: f64) -> [String; 7] {
    let (members, feedback, active) = (3.0 * users, users / 100.0, users / 20.0);
    let (sessions, listed) = (1.5, 50.0);
    let sqlite = 260.0 * guilds
        + 98.0 * members
        + (350.0 * sessions + 300.0 + 19.0 * listed) * users
        + 400.0 * feedback;
    let postgres = 310.0 * guilds
        + 142.0 * members
        + (360.0 * sessions + 220.0 + 18.0 * listed) * users
        + 730.0 * feedback;
    let memory = 40e6 + 13e3 * active + 385.0 * feedback;
    let sign_ins = 1.0 / 7.0;
    let (writes, calls) = (2.0 * 5.0 + 2.0 * sign_ins + 1.0, 5.0 + 3.0 * sign_ins);
    let each_hour = |count: f64| rate(active * count / 3600.0);
    let rarely = 1.0 + 3.0 * sign_ins;
    [
        size(sqlite),
        size(postgres),
        format!("{active:.0}"),
        size(memory),
        each_hour(writes),
        each_hour(calls),
        each_hour(rarely),
    ]
}

#[test]
fn the_table_of_capacity_follows_its_formulas() {
    let page = text("docs/capacity.md");
    let glance = page.split("\n## ").find(|section| section.starts_with("At a glance")).unwrap();
    let mut rows = 0;
    for line in glance.lines().filter(|line| line.starts_with("| ") && line.ends_with(" |")).skip(1) {
        let cells: Vec<_> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().replace(',', "")).collect();
        let (users, guilds) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
        assert_eq!(cells[2..], row(users, guilds), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 5);
}
