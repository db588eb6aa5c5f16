//! Inside a crate, imports run one way between folders. Files of one folder may use each other.
//!
//! A file that only declares and re-exports its children does not need them; one that uses what they offer does. A name
//! that a file re-exports leads to the file that has it.

mod source;

use std::collections::{BTreeMap, BTreeSet};

use self::source::Source;
use self::source::circles;
use self::source::{Module, Needs};
use super::rules::Violation;

/// Looks for circles in one crate, given its files by their paths from `src`.
pub(super) fn check(name: &str, files: &[(String, String)]) -> Vec<Violation> {
    let violation = |circle: Vec<Module>| Violation {
        rule: "inside a crate imports run one way between folders: what knows less lies deeper",
        what: format!(
            "{name}: folders that need each other: {}",
            circle.iter().map(|it| it.join("::")).collect::<Vec<_>>().join(", ")
        ),
        fix: "move what both need to a folder of its own, or both into one".to_owned(),
    };
    circles_of_folders(&needs(files)).into_iter().map(violation).collect()
}

fn needs(files: &[(String, String)]) -> Needs {
    let mut sources = BTreeMap::new();
    for (path, text) in files {
        if let Some(module) = module_of(path) {
            let source = Source::parse(&module, text);
            sources.insert(module, source);
        }
    }
    let tests: BTreeSet<Module> = sources.values().flat_map(|source| source.test_modules.clone()).collect();
    sources.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    let needs = sources.iter().map(|(module, source)| {
        let found = source.paths.iter().filter_map(|path| resolve(path, &sources, 0));
        (module.clone(), found.filter(|target| target != module).collect())
    });
    needs.collect()
}

fn module_of(path: &str) -> Option<Module> {
    let path = path.strip_suffix(".rs")?;
    let mut module: Module = path.split('/').map(String::from).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    Some(module)
}

/// The file that has what an absolute path names; nothing where that is another crate.
fn resolve(path: &[String], sources: &BTreeMap<Module, Source>, depth: u8) -> Option<Module> {
    let ends = (0..=path.len()).rev().filter_map(|length| path.split_at_checked(length));
    let (module, rest) = ends.into_iter().find(|(module, _)| sources.contains_key(*module))?;
    match rest.first().and_then(|name| sources.get(module)?.exports.get(name)) {
        Some(None) => None,
        // A name can be passed on a few times, but not for ever.
        Some(Some(target)) if depth < 8 && target != path => resolve(target, sources, depth + 1),
        _ => Some(module.to_vec()),
    }
}

/// Circles between the folders and files that lie beside each other anywhere, if a folder is among them.
fn circles_of_folders(needs: &Needs) -> Vec<Vec<Module>> {
    let parents: BTreeSet<&[String]> =
        needs.keys().filter_map(|module| module.split_last()).map(|(_, parent)| parent).collect();
    let beside = |parent: &[String]| -> Needs {
        let mut between = Needs::new();
        for (module, targets) in needs {
            let Some(from) = below(parent, module) else { continue };
            let reached = targets.iter().filter_map(|target| below(parent, target)).filter(|to| *to != from);
            between.entry(from.to_vec()).or_default().extend(reached.map(<[String]>::to_vec));
        }
        between
    };
    let is_folder = |module: &Module| parents.contains(module.as_slice());
    let found = parents.iter().flat_map(|parent| circles(&beside(parent)));
    found.filter(|circle| circle.iter().any(is_folder)).collect()
}

/// The child of `parent` in whose folder the module lies.
fn below<'a>(parent: &[String], module: &'a [String]) -> Option<&'a [String]> {
    if module.starts_with(parent) { module.get(..=parent.len()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        check("ours", &files).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn arrows_that_run_one_way_are_fine() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a/mod.rs", "mod deep; pub use self::deep::A;"),
            ("a/deep.rs", "pub struct A;"),
            ("b.rs", "use crate::a::A; fn b(_: A) {}"),
        ];
        assert_eq!(reported(&files), [""; 0]);
    }

    #[test]
    fn files_of_one_folder_may_use_each_other() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn b() { super::a::new() }"),
        ];
        assert_eq!(reported(&files), [""; 0]);
        let uses = ("a/mod.rs", "mod child; use self::child::Child; pub struct Shared(Child);");
        let child = ("a/child.rs", "use super::Shared; pub struct Child; fn f(_: Shared) {}");
        assert_eq!(reported(&[("lib.rs", "mod a;"), uses, child]), [""; 0]);
    }

    #[test]
    fn a_file_and_a_folder_that_need_each_other_are_told() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod one;"),
            ("a/one.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn b() { super::a::one::new() }"),
        ];
        assert_eq!(reported(&files), ["ours: folders that need each other: a, b"]);
    }

    #[test]
    fn folders_that_need_each_other_through_different_files_are_told() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod one; mod two;"),
            ("a/one.rs", "use crate::b::one::B; fn f(_: B) {}"),
            ("a/two.rs", "pub struct A;"),
            ("b/mod.rs", "pub mod one; mod two;"),
            ("b/one.rs", "pub struct B;"),
            ("b/two.rs", "use crate::a::two::A; fn f(_: A) {}"),
        ];
        assert_eq!(reported(&files), ["ours: folders that need each other: a, b"]);
    }

    #[test]
    fn what_a_file_passes_on_leads_to_who_has_it() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod one; mod two; pub use self::{one::One, two::Two}; pub fn f(_: Two) {}"),
            ("a/one.rs", "use super::Two; pub struct One(Two);"),
            ("a/two.rs", "pub struct Two;"),
        ];
        assert_eq!(reported(&files), [""; 0]);
    }

    #[test]
    fn tests_may_look_anywhere() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod a_test;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B(A);"),
            ("a_test.rs", "use crate::b::B;"),
        ];
        assert_eq!(reported(&files), [""; 0]);
    }
}
