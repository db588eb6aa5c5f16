//! The shape of the program, checked: who may use whom, and what lies where.
//!
//! Each rule is a pure function that turns facts into [`Violation`]s; only [`facts`] looks at the
//! repository. A new crate is a new row of [`table::CRATES`].

mod facts;
mod graph;
mod imports;
mod rules;
mod table;

use anyhow::{Result, bail};

use self::rules::Violation;

pub(crate) fn run() -> Result<()> {
    let violations = violations()?;
    if violations.is_empty() {
        println!("The architecture holds.");
        return Ok(());
    }
    for violation in &violations {
        println!("  {violation}");
    }
    bail!("The architecture is broken in {} place(s).", violations.len())
}

fn violations() -> Result<Vec<Violation>> {
    let metadata = facts::metadata()?;
    let graph = facts::graph(&metadata);
    let mut violations = rules::check(&graph);
    violations.extend(facts::check_layout(&facts::top_level_entries()?));
    for (name, text) in facts::manifests(&metadata)? {
        violations.extend(facts::check_manifest(&name, &text)?);
    }
    for (name, files) in facts::sources(&metadata)? {
        violations.extend(imports::check(&name, &files));
    }
    Ok(violations)
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_repository_keeps_the_rules() {
        let violations = super::violations().unwrap();
        let text: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(text.is_empty(), "{}", text.join("\n"));
    }
}
