//! Checks that imports between the folders of a crate run one way. Files of one folder may import each other.
//!
//! A file that only declares and re-exports its children does not depend on them; a file that uses their items does. A
//! re-exported name resolves to the file that defines it.

use super::Violation;
use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// The path of a module from the crate root, which is empty.
type Module = Vec<String>;

/// The modules that each module depends on.
type Needs = BTreeMap<Module, BTreeSet<Module>>;

/// Finds import cycles in one crate, given its files by their paths from `src`.
pub(super) fn check(name: &str, files: &[(String, String)]) -> Result<Vec<Violation>> {
    let violation = |cycle: Vec<&Module>| Violation {
        rule: "inside a crate imports run one way between folders: what knows less lies deeper",
        what: format!(
            "{name}: folders that need each other: {}",
            cycle.iter().map(|it| it.join("::")).collect::<Vec<_>>().join(", ")
        ),
        fix: "move what both need to a folder of its own, or both into one".to_owned(),
    };
    let sources = sources(files)?;
    let mut needs = Needs::new();
    for (module, source) in &sources {
        let targets = source.paths.iter().filter_map(|path| resolve(path, &sources, 0));
        for (from, to) in targets.filter_map(|target| siblings(module, &target)) {
            needs.entry(from).or_default().insert(to);
        }
    }
    let is_folder = |module: &&Module| {
        sources.keys().any(|other| other.len() > module.len() && other.starts_with(module.as_slice()))
    };
    let cycles = cycles(&needs).into_iter().filter(|cycle| cycle.iter().any(is_folder));
    Ok(cycles.map(violation).collect())
}

/// Reads all modules but those that are compiled for tests only.
fn sources(files: &[(String, String)]) -> Result<BTreeMap<Module, Source>> {
    let mut sources = BTreeMap::new();
    for (path, text) in files {
        let mut module: Module = path.trim_end_matches(".rs").split('/').map(String::from).collect();
        if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            module.pop();
        }
        let source = Source::parse(&module, text).map_err(|error| anyhow!("cannot read {path}: {error}"))?;
        sources.insert(module, source);
    }
    let tests: BTreeSet<Module> = sources.values().flat_map(|source| source.test_modules.clone()).collect();
    sources.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    Ok(sources)
}

/// Returns the file that defines what an absolute path names, or `None` if that is another crate.
fn resolve(path: &[String], sources: &BTreeMap<Module, Source>, depth: u8) -> Option<Module> {
    let ends = (0..=path.len()).rev().filter_map(|length| path.split_at_checked(length));
    let (module, rest) = ends.into_iter().find(|(module, _)| sources.contains_key(*module))?;
    match rest.first().and_then(|name| sources.get(module)?.exports.get(name)) {
        Some(None) => None,
        // Bounds chains of re-exports.
        Some(Some(target)) if depth < 8 && target != path => resolve(target, sources, depth + 1),
        _ => Some(module.to_vec()),
    }
}

/// Returns the modules in the same folder that contain these two. `None` if one of the two contains the other.
fn siblings(from: &[String], to: &[String]) -> Option<(Module, Module)> {
    let shared = from.iter().zip(to).take_while(|(one, other)| one == other).count();
    Some((from.get(..=shared)?.to_vec(), to.get(..=shared)?.to_vec()))
}

/// Returns all cycles, each as the modules that reach each other.
fn cycles(needs: &Needs) -> BTreeSet<Vec<&Module>> {
    let reach = |from| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(needs.get(module).into_iter().flatten().filter(|target| seen.insert(*target)));
        }
        seen
    };
    let reached: BTreeMap<_, _> = needs.keys().map(|module| (module, reach(module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, targets) in &reached {
        let reaches_back = |other: &&Module| reached.get(other).is_some_and(|back| back.contains(module));
        cycles.insert(targets.iter().copied().filter(reaches_back).collect::<Vec<_>>());
    }
    cycles.retain(|cycle| cycle.len() > 1);
    cycles
}

/// The names in one file. All paths start at the crate root.
#[derive(Default)]
struct Source {
    module: Module,
    /// The modules that it has declared so far.
    children: BTreeSet<String>,
    /// Paths that it uses or re-exports.
    paths: BTreeSet<Vec<String>>,
    /// Names that it re-exports, with their origin; `None` for names of other crates.
    exports: BTreeMap<String, Option<Vec<String>>>,
    /// Child modules that are compiled for tests only.
    test_modules: Vec<Module>,
}

/// Appends words, brackets and punctuation, without literals. A double colon is one token.
fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut is_second_colon = false;
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(open.to_owned());
                flatten(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Ident(word) => tokens.push(word.to_string()),
            TokenTree::Punct(_) if is_second_colon => is_second_colon = false,
            TokenTree::Punct(mark) if mark.as_char() == ':' && mark.spacing() == Spacing::Joint => {
                is_second_colon = true;
                tokens.push("::".to_owned());
            }
            TokenTree::Punct(mark) => tokens.push(mark.to_string()),
            TokenTree::Literal(_) => {}
        }
    }
}

fn nesting(token: &str) -> i32 {
    i32::from(["(", "[", "{"].contains(&token)) - i32::from([")", "]", "}"].contains(&token))
}

/// Splits off the bracketed group or single token at the start.
fn split_group<'s, 't>(tokens: &'s [&'t str]) -> (&'s [&'t str], &'s [&'t str]) {
    let mut depth = 0;
    let ends = |token: &&str| {
        depth += nesting(token);
        depth == 0
    };
    let length = tokens.iter().position(ends).map_or(tokens.len(), |last| last + 1);
    tokens.split_at_checked(length).unwrap_or((tokens, &[]))
}

impl Source {
    fn parse(module: &Module, text: &str) -> Result<Self, proc_macro2::LexError> {
        let mut tokens = Vec::new();
        flatten(text.parse()?, &mut tokens);
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let mut source = Self { module: module.clone(), ..Self::default() };
        source.read(&tokens);
        Ok(source)
    }

    fn read(&mut self, mut tokens: &[&str]) {
        let (mut before, mut is_for_tests) = ("", false);
        while let [token, rest @ ..] = tokens {
            let mut next = rest;
            match (*token, rest) {
                ("#", _) => {
                    is_for_tests |= rest.starts_with(&["[", "cfg", "(", "test", ")", "]"]);
                    (_, next) = split_group(rest);
                }
                ("pub", ["(", ..]) => (_, next) = split_group(rest),
                ("mod", [name, after @ ..]) => {
                    next = after;
                    self.children.insert((*name).to_owned());
                    if is_for_tests {
                        self.test_modules.push([&self.module[..], &[(*name).to_owned()]].concat());
                        (_, next) = split_group(after);
                    }
                }
                ("use", [name, ..]) if *name != "<" => {
                    let end = rest.iter().position(|token| *token == ";").unwrap_or(rest.len());
                    let (tree, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
                    if !is_for_tests {
                        self.read_use(tree, &[], before == "pub");
                    }
                    next = after;
                }
                _ if is_name(token) && !["::", ".", "$", "'"].contains(&before) => {
                    let mut path = vec![*token];
                    while let ["::", name, after @ ..] = next
                        && is_name(name)
                    {
                        path.push(name);
                        next = after;
                    }
                    // A single segment is a local name.
                    if path.len() > 1 {
                        self.paths.extend(self.absolute(&path));
                    }
                }
                _ => {}
            }
            is_for_tests &= ["#", "pub"].contains(token);
            before = token;
            tokens = next;
        }
    }

    /// Reads a use tree without its keyword.
    fn read_use(&mut self, tree: &[&str], before: &[&str], is_exported: bool) {
        let mut path = before.to_vec();
        let mut rest = tree;
        while let [name, "::", after @ ..] = rest {
            path.push(name);
            rest = after;
        }
        match rest {
            ["{", items @ .., "}"] => {
                let mut depth = 0;
                let trees = items.split(|token| {
                    depth += nesting(token);
                    depth == 0 && *token == ","
                });
                trees.for_each(|tree| self.read_use(tree, &path, is_exported));
            }
            ["*"] => self.paths.extend(self.absolute(&path)),
            [name, new_name @ ..] => {
                path.extend((*name != "self").then_some(*name));
                let path = self.absolute(&path);
                self.paths.extend(path.clone());
                if is_exported {
                    let name = new_name.last().unwrap_or(name);
                    self.exports.insert((*name).to_owned(), path);
                }
            }
            [] => {}
        }
    }

    /// Returns the path from the crate root, or `None` if it leads to another crate.
    fn absolute(&self, path: &[&str]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|segment| **segment == "super").count();
        let (module, rest) = match path {
            ["crate", rest @ ..] => (&[][..], rest),
            ["self", rest @ ..] => (&self.module[..], rest),
            ["super", ..] => (self.module.get(..self.module.len().checked_sub(ups)?)?, path.get(ups..)?),
            [child, ..] if self.children.contains(*child) => (&self.module[..], path),
            _ => return None,
        };
        Some(module.iter().cloned().chain(rest.iter().map(ToString::to_string)).collect())
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_only_cycles_that_involve_a_folder() {
        for case in [
            "none: arrows that run one way
             lib.rs: mod a; mod b; pub use a::A;
             a/mod.rs: mod deep; pub use self::deep::A;
             a/deep.rs: pub struct A;
             b.rs: use crate::a::A; fn b(_: A) {}",
            "none: files of one folder
             lib.rs: mod a; mod b;
             a.rs: use crate::b::B; pub struct A(B);
             b.rs: pub struct B; fn b() { super::a::new() }",
            "none: a file and its child
             lib.rs: mod a;
             a/mod.rs: mod child; use self::child::Child; pub struct Shared(Child);
             a/child.rs: use super::Shared; pub struct Child; fn f(_: Shared) {}",
            "cycle: a file and a folder that need each other
             lib.rs: mod a; mod b;
             a/mod.rs: mod one;
             a/one.rs: use crate::b::B; pub struct A(B);
             b.rs: pub struct B; fn b() { super::a::one::new() }",
            "cycle: folders that need each other through different files
             lib.rs: mod a; mod b;
             a/mod.rs: mod one; mod two;
             a/one.rs: use crate::b::one::B; fn f(_: B) {}
             a/two.rs: pub struct A;
             b/mod.rs: pub mod one; mod two;
             b/one.rs: pub struct B;
             b/two.rs: use crate::a::two::A; fn f(_: A) {}",
            "cycle: a re-exported name, which leads to the file that has it
             lib.rs: mod a; mod b; mod c; pub use a::A;
             a/mod.rs: mod one; pub use self::one::A; fn f(_: crate::b::B) {}
             a/one.rs: pub struct A;
             b.rs: pub struct B; fn f(_: crate::A) {}",
            "none: tests, which may look anywhere
             lib.rs: mod a; mod b; #[cfg(test)] mod a_test;
             a/mod.rs: pub struct A; #[cfg(test)] mod tests { use crate::b::B; }
             a/one.rs:
             b.rs: use crate::a::A; pub struct B(A);
             a_test.rs: use crate::b::B;",
        ] {
            let files = case.lines().skip(1).filter_map(|line| line.trim().split_once(':'));
            let files: Vec<_> = files.map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
            let reported: Vec<_> =
                check("ours", &files).unwrap().into_iter().map(|violation| violation.what).collect();
            let cycle = ["ours: folders that need each other: a, b".to_owned()];
            assert_eq!(reported, &cycle[..usize::from(case.starts_with("cycle"))], "{case}");
        }
    }

    #[test]
    fn finds_paths_in_imports_and_code() {
        let module = vec!["a".to_owned(), "b".to_owned()];
        for (text, expected) in [
            (
                "mod child; use super::{x::{self, Y as Z}, w::*}; use std::fmt;
                pub(in crate::a) fn f<T: crate::T>(t: &T) -> child::A { t.crate_::g(); super::super::h::<crate::i::I>() }",
                &["T", "a::b::child::A", "a::w", "a::x", "a::x::Y", "h", "i::I"][..],
            ),
            (
                r##"/* crate::a::A /* */ crate::b::B */ // crate::c::C
                const A: &str = "\" crate::d::D"; const B: &str = r#"" crate::e::E"#; const C: u8 = b'"';
                const D: [char; 3] = ['"', '\'', 'x']; fn f<'a>(_: &'a crate::found::One) {}
                #[cfg(test)] mod tests { use crate::f::F; fn g() { crate::h::H } }
                #[cfg(test)] use crate::i::I; fn z() { crate::found::Two }"##,
                &["found::One", "found::Two"],
            ),
        ] {
            let source = Source::parse(&module, text).unwrap();
            let paths: Vec<_> = source.paths.iter().map(|path| path.join("::")).collect();
            assert_eq!(paths, expected);
            assert_eq!(source.test_modules.len(), usize::from(text.contains("mod tests")));
        }
    }
}
