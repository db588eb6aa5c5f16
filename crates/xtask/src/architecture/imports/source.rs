//! What the sources import, and circles between their folders.
#![expect(clippy::indexing_slicing, reason = "every index was found in what it indexes")]

use std::collections::{BTreeMap, BTreeSet};

/// One file, by what it names. All paths are from the crate's root.
#[derive(Default)]
pub(super) struct Source {
    /// What it uses.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// Names that it re-exports, and where they come from; `None` for a name of another crate.
    pub(super) exports: BTreeMap<String, Option<Vec<String>>>,
    /// Its children that are compiled for tests alone.
    pub(super) test_modules: Vec<Module>,
}

impl Source {
    pub(super) fn parse(module: &Module, text: &str) -> Self {
        let tokens = tokens(text);
        let mut reader = Reader { module, children: children(&tokens), ..Reader::default() };
        reader.read(&tokens);
        let Reader { mut source, first_names, .. } = reader;
        // A file that uses what it re-exports needs it.
        let used = source.exports.iter().filter(|(name, _)| first_names.contains(name.as_str()));
        source.paths.extend(used.filter_map(|(_, path)| path.clone()));
        source
    }
}

/// The modules that the file declares at its top level.
fn children<'t>(tokens: &[&'t str]) -> BTreeSet<&'t str> {
    let mut depth = 0;
    let top_level = tokens.windows(3).filter(|tokens| {
        depth += i32::from(tokens[0] == "{") - i32::from(tokens[0] == "}");
        depth == 0
    });
    let declared = top_level.filter(|tokens| tokens[0] == "mod" && [";", "{"].contains(&tokens[2]));
    declared.map(|tokens| tokens[1]).collect()
}

#[derive(Default)]
struct Reader<'t> {
    module: &'t [String],
    children: BTreeSet<&'t str>,
    /// The first segments of all paths in the code.
    first_names: BTreeSet<&'t str>,
    source: Source,
}

impl<'t> Reader<'t> {
    fn read(&mut self, mut tokens: &[&'t str]) {
        let (mut before, mut is_for_tests) = ("", false);
        while let [token, rest @ ..] = tokens {
            let mut next = rest;
            match (*token, rest) {
                ("#", _) => {
                    is_for_tests |= rest.starts_with(&["[", "cfg", "(", "test", ")", "]"]);
                    next = &rest[group(rest)..];
                }
                ("pub", ["(", ..]) => next = &rest[group(rest)..],
                ("mod", [_, ..]) if !is_for_tests => next = &rest[1..],
                ("mod", [name, ..]) => {
                    self.source.test_modules.push([self.module, &[(*name).to_owned()]].concat());
                    next = &rest[1..];
                    next = &next[group(next)..];
                }
                ("use", [name, ..]) if *name != "<" => {
                    let end = rest.iter().position(|token| *token == ";").unwrap_or(rest.len());
                    if !is_for_tests {
                        self.read_use(&rest[..end], &[], ["pub", ")"].contains(&before));
                    }
                    next = &rest[end..];
                }
                _ if is_name(token) && !["::", ".", "$"].contains(&before) => {
                    let mut path = vec![*token];
                    while let ["::", name, after @ ..] = next
                        && is_name(name)
                    {
                        path.push(name);
                        next = after;
                    }
                    self.first_names.insert(token);
                    // One segment alone is a local name.
                    if path.len() > 1 {
                        let path = self.absolute(&path);
                        self.source.paths.extend(path);
                    }
                }
                _ => {}
            }
            is_for_tests &= ["#", "pub"].contains(token);
            before = tokens[tokens.len() - next.len() - 1];
            tokens = next;
        }
    }

    /// Reads a tree of imports without its keyword.
    fn read_use(&mut self, tree: &[&'t str], before: &[&'t str], is_exported: bool) {
        let mut path = before.to_vec();
        let mut rest = tree;
        while let [name, "::", after @ ..] = rest {
            path.push(name);
            rest = after;
        }
        match rest {
            ["{", ..] => {
                let mut items = &rest[1..group(rest) - 1];
                while !items.is_empty() {
                    let mut depth = 0;
                    let is_end = |token: &&str| {
                        depth += i32::from(*token == "{") - i32::from(*token == "}");
                        depth == 0 && *token == ","
                    };
                    let end = items.iter().position(is_end).unwrap_or(items.len());
                    self.read_use(&items[..end], &path, is_exported);
                    items = items.get(end + 1..).unwrap_or_default();
                }
            }
            ["*"] => {
                let path = self.absolute(&path);
                self.source.paths.extend(path);
            }
            [name, new_name @ ..] => {
                path.extend((*name != "self").then_some(*name));
                let path = self.absolute(&path);
                if is_exported {
                    let name = new_name.last().unwrap_or(name);
                    self.source.exports.insert((*name).to_owned(), path);
                } else {
                    self.source.paths.extend(path);
                }
            }
            [] => {}
        }
    }

    /// The path from the crate's root, or `None` for one that leads to another crate.
    fn absolute(&self, path: &[&str]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let below = |module: &[String], rest: &[&str]| {
            module.iter().cloned().chain(rest.iter().map(ToString::to_string)).collect()
        };
        match *first {
            "crate" => Some(below(&[], rest)),
            "self" => Some(below(self.module, rest)),
            "super" => {
                let ups = path.iter().take_while(|segment| **segment == "super").count();
                let kept = self.module.len().checked_sub(ups)?;
                Some(below(&self.module[..kept], &path[ups..]))
            }
            child if self.children.contains(child) => Some(below(self.module, path)),
            _ => None,
        }
    }
}

/// The number of tokens of the bracketed group at the beginning, or of the one token there.
fn group(tokens: &[&str]) -> usize {
    let mut depth = 0;
    let ends = |token: &&str| {
        depth += i32::from(["(", "[", "{"].contains(token)) - i32::from([")", "]", "}"].contains(token));
        depth == 0
    };
    tokens.iter().position(ends).map_or(tokens.len(), |last| last + 1)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The words and punctuation of a file, without comments and literals.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => quoted(rest, '"'),
            '\'' => character_or_lifetime(rest),
            'r' | 'b' | 'c' if let Some(length) = prefixed_literal(rest) => length,
            _ if first.is_alphanumeric() || first == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(&rest[..end]);
                end
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
                tokens.push(&rest[..length]);
                length
            }
        };
        rest = &rest[length..];
    }
    tokens
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let ends = |(at, _): &(usize, char)| {
        depth += i32::from(text[*at..].starts_with("/*")) - i32::from(text[*at..].starts_with("*/"));
        depth == 0
    };
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at + 2)
}

/// The length of a literal with escapes.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let ends = |(at, c): &(usize, char)| {
        let ends = *at > 0 && *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    };
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at + 1)
}

fn character_or_lifetime(text: &str) -> usize {
    let mut after = text.char_indices().skip(2);
    match after.next() {
        Some((at, '\'')) => at + 1,
        _ if text.starts_with("'\\") => quoted(text, '\''),
        _ => 1,
    }
}

/// The length of a raw string, or of a literal of bytes or C. `None` for a word.
fn prefixed_literal(text: &str) -> Option<usize> {
    let prefix = text.find(|c: char| !"rbc".contains(c))?;
    let is_raw = text[..prefix].contains('r');
    let hashes = text[prefix..].chars().take_while(|c| *c == '#').count();
    let literal = &text[prefix + hashes..];
    match literal.chars().next()? {
        '"' if is_raw => {
            let end = format!("\"{}", "#".repeat(hashes));
            let length = literal[1..].find(&end).map_or(literal.len(), |at| 1 + at + end.len());
            Some(prefix + hashes + length)
        }
        quote @ ('"' | '\'') if hashes == 0 && prefix == 1 => Some(prefix + quoted(literal, quote)),
        _ => None,
    }
}

/// All circles: for each, those who can all reach each other.
pub(super) fn circles(needs: &Needs) -> Vec<Vec<Module>> {
    let reach = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            for target in needs.get(module).into_iter().flatten() {
                if seen.insert(target) {
                    next.push(target);
                }
            }
        }
        seen
    };
    let reached: Vec<_> = needs.keys().map(|module| (module, reach(module))).collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for (module, targets) in &reached {
        let others = reached.iter().filter(|(other, theirs)| {
            other == module || (targets.contains(other) && theirs.contains(module))
        });
        let circle: Vec<_> = others.map(|(other, _)| (*other).clone()).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// A module by its path from the crate's root, which is empty.
pub(super) type Module = Vec<String>;

/// Which modules each module needs.
pub(super) type Needs = BTreeMap<Module, BTreeSet<Module>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let source = Source::parse(&vec!["a".to_owned(), "b".to_owned()], text);
        source.paths.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_of_imports_and_code_are_found() {
        let text = "mod child; use super::{x::{self, Y as Z}, w::*}; use std::fmt;
            pub(in crate::a) fn f<T: crate::T>(t: &T) -> child::A { t.crate_::g(); super::super::h::<crate::i::I>() }";
        assert_eq!(paths(text), ["T", "a::b::child::A", "a::w", "a::x", "a::x::Y", "h", "i::I"]);
    }

    #[test]
    fn comments_literals_and_tests_are_left_out() {
        let text = r##"/* crate::a::A /* */ crate::b::B */ // crate::c::C
            const A: &str = "\" crate::d::D"; const B: &str = r#"" crate::e::E"#; const C: u8 = b'"';
            const D: [char; 3] = ['"', '\'', 'x']; fn f<'a>(_: &'a crate::found::One) {}
            #[cfg(test)] mod tests { use crate::f::F; fn g() { crate::h::H } }
            #[cfg(test)] use crate::i::I; fn z() { crate::found::Two }"##;
        assert_eq!(paths(text), ["found::One", "found::Two"]);
        assert_eq!(Source::parse(&vec![], text).test_modules, [vec!["tests".to_owned()]]);
    }
}
