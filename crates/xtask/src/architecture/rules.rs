//! The rules, and what breaks them.

use super::{
    graph::{Graph, Kind},
    table::{
        self, ADAPTERS, CONFINED, CRATES, DASHBOARD, DOMAIN, HTTP, IO_CRATES, MANAGEMENT, RECORDS,
        TESTS_MAY_USE, TESTS_MAY_USE_XTASK, XTASK,
    },
};
use std::fmt;

pub(super) fn check(graph: &Graph) -> Vec<Violation> {
    [
        every_crate_is_in_the_table,
        our_crates_use_only_what_the_table_allows,
        tests_use_only_what_the_table_allows_and_the_test_kit,
        the_domain_reaches_no_io,
        the_records_reach_no_io,
        no_api_sees_an_adapter,
        libraries_stay_where_they_belong,
    ]
    .iter()
    .flat_map(|rule| rule(graph))
    .collect()
}

fn every_crate_is_in_the_table(graph: &Graph) -> Vec<Violation> {
    let unknown = graph.our_names().filter(|name| table::row(name).is_none());
    unknown
        .map(|name| Violation {
            rule: "every crate of the workspace is in the table of crates",
            what: name.to_owned(),
            fix: "give it a row in crates/xtask/src/architecture/table.rs that says what it may use"
                .to_owned(),
        })
        .collect()
}

fn our_crates_use_only_what_the_table_allows(graph: &Graph) -> Vec<Violation> {
    arrows_outside_the_table(graph, Kind::Ordinary)
        .map(|(from, to)| Violation {
            rule: "a crate uses only those of ours that the table of crates allows",
            what: format!("{from} -> {to}"),
            fix: format!(
                "{}; let {from} take a port of the domain and the composition root pass it in",
                may_use(from)
            ),
        })
        .collect()
}

fn tests_use_only_what_the_table_allows_and_the_test_kit(graph: &Graph) -> Vec<Violation> {
    arrows_outside_the_table(graph, Kind::Development)
        .filter(|(from, to)| !tests_may_use(from, to))
        .map(|(from, to)| Violation {
            rule: "tests of one crate use no adapter but the one in memory",
            what: format!("{from} -> {to} (dev-dependency)"),
            fix: format!(
                "{}, its tests also {}; a test over several adapters belongs into the `tests` crate",
                may_use(from),
                TESTS_MAY_USE.join(", ")
            ),
        })
        .collect()
}

fn arrows_outside_the_table(graph: &Graph, kind: Kind) -> impl Iterator<Item = (&'static str, &str)> {
    CRATES.iter().flat_map(move |row| {
        let ours = graph.direct(row.name, kind).into_iter().filter(|to| graph.is_ours(to));
        // A crate may depend on itself in its tests, to switch a feature on.
        ours.filter(|to| *to != row.name && !row.may_use.contains(to)).map(|to| (row.name, to))
    })
}

fn tests_may_use(from: &str, to: &str) -> bool {
    TESTS_MAY_USE.contains(&to) || (to == XTASK && TESTS_MAY_USE_XTASK.contains(&from))
}

fn may_use(name: &str) -> String {
    match table::row(name).map(|row| row.may_use) {
        None | Some([]) => format!("{name} may use none of our crates"),
        Some(allowed) => format!("{name} may use {}", allowed.join(", ")),
    }
}

fn the_domain_reaches_no_io(graph: &Graph) -> Vec<Violation> {
    let ways = graph.ways(DOMAIN, |name| IO_CRATES.contains(&name));
    ways.iter()
        .map(|way| Violation {
            rule: "the domain reaches no I/O crate, however indirectly",
            what: way.join(" -> "),
            fix: "define a port in the domain and do the I/O in an adapter, or switch off the feature that brings it"
                .to_owned(),
        })
        .collect()
}

fn the_records_reach_no_io(graph: &Graph) -> Vec<Violation> {
    let ways = graph.ways(RECORDS, |name| IO_CRATES.contains(&name));
    // What the domain brings is told of the domain.
    ways.iter()
        .filter(|way| !way.contains(&DOMAIN))
        .map(|way| Violation {
            rule: "the records reach no I/O crate, however indirectly",
            what: way.join(" -> "),
            fix: "read and write bytes where they come from, and give the records text".to_owned(),
        })
        .collect()
}

fn no_api_sees_an_adapter(graph: &Graph) -> Vec<Violation> {
    // Both are built on the public API, so their ways are its ways too: those are told once.
    let ways = |api| graph.ways(api, |name| ADAPTERS.contains(&name));
    let of_dashboard = ways(DASHBOARD).into_iter().filter(|way| !way.contains(&HTTP));
    ways(MANAGEMENT)
        .into_iter()
        .chain(of_dashboard)
        .map(|way| Violation {
            rule: "no API ever sees an adapter, however indirectly",
            what: way.join(" -> "),
            fix:
                "ask for the port as `Arc<dyn _>`; only the composition root knows which adapter is behind it"
                    .to_owned(),
        })
        .collect()
}

fn libraries_stay_where_they_belong(graph: &Graph) -> Vec<Violation> {
    let arrows = CRATES.iter().filter(|row| row.production).flat_map(|row| {
        graph.direct(row.name, Kind::Ordinary).into_iter().map(|library| (row.name, library))
    });
    arrows
        .filter_map(|(from, library)| {
            let (_, homes) = CONFINED.iter().find(|(libraries, _)| libraries.contains(&library))?;
            (!homes.contains(&from)).then(|| Violation {
                rule: "a library that decides an adapter is used directly only where it belongs",
                what: format!("{from} -> {library}"),
                fix: format!("move what needs {library} into {}", homes.join(" or ")),
            })
        })
        .collect()
}

/// A broken rule: what breaks it, and the way out.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) rule: &'static str,
    pub(super) what: String,
    pub(super) fix: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n    rule: {}\n    fix:  {}", self.what, self.rule, self.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::table::{
        CACHE, COMPANION, HTTP, STORAGE_DIESEL, STORAGE_MEMORY, TESTKIT, TESTS,
    };

    /// A graph with every crate of ours, the arrows the table allows, and those given on top.
    fn graph(more: &[(&str, &str, Kind)]) -> Graph {
        let mut graph = Graph::default();
        for name in ["serde", "helper", "tokio", "diesel", "actix-web", "reqwest"] {
            graph.add(name, name, false);
        }
        for row in CRATES {
            graph.add(row.name, row.name, true);
            for to in row.may_use {
                graph.connect(row.name, to, Kind::Ordinary);
            }
        }
        for (from, to) in [(DOMAIN, "serde"), (STORAGE_DIESEL, "diesel"), (HTTP, "actix-web")] {
            graph.connect(from, to, Kind::Ordinary);
        }
        for (from, to, kind) in more {
            graph.connect(from, to, *kind);
        }
        graph
    }

    fn only_violation(graph: &Graph) -> String {
        let violations = check(graph);
        assert_eq!(violations.len(), 1, "{violations:?}");
        violations[0].to_string()
    }

    #[test]
    fn the_allowed_arrows_break_nothing() {
        let development =
            [STORAGE_DIESEL, CACHE, DOMAIN, COMPANION].map(|from| (from, TESTKIT, Kind::Development));
        let violations = check(&graph(&development));
        assert!(violations.is_empty(), "{violations:?}");
    }

    #[test]
    fn an_unknown_crate_is_told_to_enter_the_table() {
        let mut graph = graph(&[]);
        graph.add("companion-surprise", "companion-surprise", true);
        let text = only_violation(&graph);
        assert!(text.starts_with("companion-surprise\n") && text.contains("table.rs"), "{text}");
    }

    #[test]
    fn an_arrow_that_the_table_does_not_allow_is_named() {
        let text = only_violation(&graph(&[(CACHE, STORAGE_MEMORY, Kind::Ordinary)]));
        assert!(text.starts_with("companion-cache -> companion-storage-memory\n"), "{text}");
        assert!(text.contains("table of crates allows"), "{text}");
        assert!(text.contains("companion-cache may use companion-domain;"), "{text}");
    }

    #[test]
    fn the_program_does_not_contain_the_test_kit() {
        let text = only_violation(&graph(&[(COMPANION, TESTKIT, Kind::Ordinary)]));
        assert!(text.starts_with("companion -> companion-testkit\n"), "{text}");
    }

    #[test]
    fn a_test_that_uses_a_foreign_adapter_is_named() {
        let text = only_violation(&graph(&[(CACHE, STORAGE_DIESEL, Kind::Development)]));
        assert!(text.starts_with("companion-cache -> companion-storage-diesel (dev-dependency)\n"), "{text}");
        let end_to_end = graph(&[(TESTS, STORAGE_DIESEL, Kind::Development)]);
        assert!(check(&end_to_end).is_empty());
    }

    #[test]
    fn only_tests_and_only_those_with_a_database_use_the_chores() {
        for from in [STORAGE_DIESEL, COMPANION, TESTS] {
            assert!(check(&graph(&[(from, XTASK, Kind::Development)])).is_empty(), "{from}");
            let text = only_violation(&graph(&[(from, XTASK, Kind::Ordinary)]));
            assert!(text.starts_with(&format!("{from} -> xtask\n")), "{text}");
        }
        let text = only_violation(&graph(&[(CACHE, XTASK, Kind::Development)]));
        assert!(text.starts_with("companion-cache -> xtask (dev-dependency)\n"), "{text}");
    }

    #[test]
    fn io_in_the_domain_is_shown_with_the_way_it_came() {
        let arrows = [(DOMAIN, "helper", Kind::Ordinary), ("helper", "tokio", Kind::Ordinary)];
        let text = only_violation(&graph(&arrows));
        assert!(text.starts_with("companion-domain -> helper -> tokio\n"), "{text}");
        assert!(text.contains("the domain reaches no I/O crate"), "{text}");
    }

    #[test]
    fn the_tests_of_the_domain_may_use_a_runtime() {
        assert!(check(&graph(&[(DOMAIN, "tokio", Kind::Development)])).is_empty());
    }

    #[test]
    fn io_in_the_records_is_shown_with_the_way_it_came() {
        let arrows = [(RECORDS, "helper", Kind::Ordinary), ("helper", "actix-web", Kind::Ordinary)];
        let text = only_violation(&graph(&arrows));
        assert!(text.starts_with("companion-records -> helper -> actix-web\n"), "{text}");
        assert!(text.contains("the records reach no I/O crate"), "{text}");
    }

    #[test]
    fn an_adapter_that_an_api_reaches_indirectly_is_shown_with_the_way_it_came() {
        for (api, way) in [
            (HTTP, "companion-management -> companion-http -> helper -> companion-storage-memory\n"),
            (MANAGEMENT, "companion-management -> helper -> companion-storage-memory\n"),
            (DASHBOARD, "companion-dashboard -> helper -> companion-storage-memory\n"),
        ] {
            let arrows = [(api, "helper", Kind::Ordinary), ("helper", STORAGE_MEMORY, Kind::Ordinary)];
            let text = only_violation(&graph(&arrows));
            assert!(text.starts_with(way), "{text}");
            assert!(text.contains("no API ever sees an adapter"), "{text}");
        }
    }

    #[test]
    fn a_library_outside_its_home_is_named_with_its_home() {
        for (from, library, home) in [
            (COMPANION, "diesel", "move what needs diesel into companion-storage-diesel"),
            (STORAGE_DIESEL, "actix-web", "companion-http or companion-management or companion-dashboard"),
            (HTTP, "reqwest", "companion-identity-oauth2 or companion"),
        ] {
            let text = only_violation(&graph(&[(from, library, Kind::Ordinary)]));
            assert!(text.starts_with(&format!("{from} -> {library}\n")) && text.contains(home), "{text}");
        }
    }

    #[test]
    fn crates_that_are_not_part_of_the_program_use_any_library() {
        assert!(check(&graph(&[(TESTKIT, "actix-web", Kind::Ordinary)])).is_empty());
    }
}
