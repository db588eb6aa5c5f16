//! Runs named steps in order, up to the first failure, and prints a summary.

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::invocation::Invocation;
use crate::requirement::{MissingTools, Requirement, WhenMissing};

pub(crate) struct Step {
    name: &'static str,
    /// The step is skipped without any of them.
    pub(crate) needs: Vec<&'static Requirement>,
    /// The command that repeats only this step.
    pub(crate) repeat: String,
    action: Box<dyn Fn() -> Result<()>>,
}

impl Step {
    /// Creates a step for a function; `repeat` is the command that runs it alone.
    pub(crate) fn check(name: &'static str, repeat: &str, check: impl Fn() -> Result<()> + 'static) -> Self {
        Self { name, needs: Vec::new(), repeat: repeat.to_owned(), action: Box::new(check) }
    }

    pub(crate) fn program(name: &'static str, invocation: Invocation) -> Self {
        Self::check(name, &invocation.to_string(), move || invocation.run())
    }

    pub(crate) fn needing(self, requirement: &'static Requirement) -> Self {
        Self { needs: vec![requirement], ..self }
    }
}

/// Installs tools as the policy says, then runs the steps that `plan` returns for the available ones.
pub(crate) fn run(
    required: impl IntoIterator<Item = &'static Requirement>,
    policy: WhenMissing,
    plan: impl FnOnce(&MissingTools) -> Result<Vec<Step>>,
) -> Result<()> {
    let missing = MissingTools::among(required, policy)?;
    let mut finished = Vec::new();
    let result = run_until_failure(&plan(&missing)?, &missing, &mut finished);
    println!("\n{}", summary(&finished, &missing));
    result
}

fn run_until_failure(
    steps: &[Step],
    missing: &MissingTools,
    finished: &mut Vec<(&'static str, Duration)>,
) -> Result<()> {
    for step in steps {
        if step.needs.iter().any(|requirement| missing.includes(requirement)) {
            continue;
        }
        println!("\n==> {}: {}", step.name, step.repeat);
        let start = Instant::now();
        let result = (step.action)();
        let took = start.elapsed();
        println!("<== {}: {:.1} s", step.name, took.as_secs_f64());
        if let Err(error) = result {
            bail!("Step `{}` failed: {error:#}\nRepeat it with: {}", step.name, step.repeat);
        }
        finished.push((step.name, took));
    }
    ensure!(!finished.is_empty(), "Nothing ran, for lack of tools.");
    Ok(())
}

fn summary(finished: &[(&str, Duration)], missing: &MissingTools) -> String {
    let mut text = String::from("Passed:");
    let total = finished.iter().map(|(_, took)| *took).sum();
    for (name, took) in finished.iter().copied().chain([("total", total)]) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {name:<14}{:>8.1} s", took.as_secs_f64());
    }
    for tool in &missing.0 {
        let _ = write!(text, "\n{}", tool.remark());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{LLVM_TOOLS, VALGRIND};

    #[test]
    fn stops_at_the_first_failure_and_prints_its_command() {
        let steps = [
            Step::check("good", "repeat good", || Ok(())),
            Step::check("bad", "repeat bad", || bail!("a reason")),
            Step::check("never", "repeat never", || panic!("a step after the failure ran")),
        ];
        let mut finished = Vec::new();
        let error = run_until_failure(&steps, &MissingTools::default(), &mut finished).unwrap_err();
        assert_eq!(error.to_string(), "Step `bad` failed: a reason\nRepeat it with: repeat bad");
        assert_eq!(finished.len(), 1);
        let error = run_until_failure(&[], &MissingTools::default(), &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "Nothing ran, for lack of tools.");
    }

    #[test]
    fn skips_a_step_that_lacks_one_of_its_tools() {
        let mut step = Step::check("skipped", "repeat skipped", || panic!("a step without its tool ran"));
        step.needs = vec![&VALGRIND, &LLVM_TOOLS];
        let steps = [step, Step::check("good", "repeat good", || Ok(()))];
        let mut finished = Vec::new();
        run_until_failure(&steps, &MissingTools(vec![&LLVM_TOOLS]), &mut finished).unwrap();
        assert_eq!(finished.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["good"]);
    }

    #[test]
    fn the_summary_lists_the_duration_of_each_step() {
        let finished = [("format", Duration::from_millis(400)), ("tests", Duration::from_secs(12))];
        assert_eq!(
            summary(&finished, &MissingTools::default()),
            "Passed:\n  format             0.4 s\n  tests             12.0 s\n  total             12.4 s"
        );
    }
}
