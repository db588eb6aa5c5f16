//! What one file says about others.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, Visibility};

use super::module::Module;

/// One file, by what it names. All paths are from the crate's root.
pub(super) struct Source {
    /// What it uses.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// Names that it passes on, and where they come from; nothing for what another crate has.
    pub(super) exports: BTreeMap<String, Option<Vec<String>>>,
    /// Its children that are compiled for tests alone.
    pub(super) test_modules: Vec<Module>,
}

impl Source {
    pub(super) fn parse(module: &Module, text: &str) -> Result<Self> {
        let file = syn::parse_file(text).with_context(|| format!("cannot read {}", module.join("::")))?;
        let mut reader = Reader::new(module);
        reader.visit_file(&file);
        let Reader { mut paths, exports, first_names, test_modules, .. } = reader;
        // Whoever also uses what it passes on needs it.
        let used = exports.iter().filter(|(name, _)| first_names.contains(*name));
        paths.extend(used.filter_map(|(_, path)| path.clone()));
        Ok(Self { paths, exports, test_modules })
    }
}

struct Reader<'a> {
    module: &'a Module,
    paths: BTreeSet<Vec<String>>,
    exports: BTreeMap<String, Option<Vec<String>>>,
    /// The first segments of all paths in the code.
    first_names: BTreeSet<String>,
    children: BTreeSet<String>,
    test_modules: Vec<Module>,
}

impl<'a> Reader<'a> {
    fn new(module: &'a Module) -> Self {
        Self {
            module,
            paths: BTreeSet::new(),
            exports: BTreeMap::new(),
            first_names: BTreeSet::new(),
            children: BTreeSet::new(),
            test_modules: Vec::new(),
        }
    }

    /// The path from the crate's root, or nothing for one that leads to another crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([self.module, rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|segment| *segment == "super").count();
                let kept = self.module.len().checked_sub(ups)?;
                Some(self.module.iter().take(kept).chain(path.iter().skip(ups)).cloned().collect())
            }
            child if self.children.contains(child) => Some([self.module, path].concat()),
            _ => None,
        }
    }

    fn take_use(&mut self, tree: &UseTree, before: &[String], exported: bool) {
        match tree {
            UseTree::Path(path) => {
                let segments = [before, &[path.ident.to_string()]].concat();
                self.take_use(&path.tree, &segments, exported);
            }
            UseTree::Name(name) => self.take_name(before, &name.ident.to_string(), None, exported),
            UseTree::Rename(rename) => {
                let new_name = rename.rename.to_string();
                self.take_name(before, &rename.ident.to_string(), Some(new_name), exported);
            }
            UseTree::Glob(_) => self.paths.extend(self.absolute(before)),
            UseTree::Group(group) => {
                for item in &group.items {
                    self.take_use(item, before, exported);
                }
            }
        }
    }

    fn take_name(&mut self, before: &[String], name: &str, new_name: Option<String>, exported: bool) {
        let mut path = before.to_vec();
        if name != "self" {
            path.push(name.to_owned());
        }
        let absolute = self.absolute(&path);
        if exported {
            self.exports.insert(new_name.unwrap_or_else(|| name.to_owned()), absolute);
        } else {
            self.paths.extend(absolute);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_file(&mut self, file: &'ast syn::File) {
        for item in &file.items {
            if let syn::Item::Mod(item) = item {
                self.children.insert(item.ident.to_string());
            }
        }
        visit::visit_file(self, file);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if is_for_tests(&item.attrs) {
            let child = [self.module.as_slice(), &[item.ident.to_string()]].concat();
            self.test_modules.push(child);
        } else {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.take_use(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.first_names.extend(segments.first().cloned());
        // One segment alone is a local name, and `self` the receiver of a method.
        if let Some(absolute) = (segments.len() > 1).then(|| self.absolute(&segments)).flatten() {
            self.paths.insert(absolute);
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}
