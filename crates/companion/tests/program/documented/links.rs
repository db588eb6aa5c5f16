//! Every link of every page leads to a file or a heading that is there.

use super::page::{files, root, split};
use std::{collections::BTreeSet, fs, path::Path};

/// What stands in round brackets behind square ones; code is no link.
fn targets(page: &str) -> Vec<String> {
    let (prose, _) = split(page);
    let text = prose.join("\n");
    let outside_code = text.split('`').step_by(2);
    outside_code
        .flat_map(|text| text.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .map(str::to_owned)
        .collect()
}

/// The names of a page's headings, as the usual hosts make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in split(page).0 {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let letters =
            heading.trim().chars().filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
        let name: String = letters
            .flat_map(char::to_lowercase)
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        let repeated =
            (1..).map(|number| format!("{name}-{number}")).find(|next| !names.contains(next)).unwrap();
        if !names.insert(name) {
            names.insert(repeated);
        }
    }
    names
}

/// What is wrong with a link of a page, if anything.
fn wrong(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let file = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    if !file.exists() {
        return Some(format!("{}: there is no {target}", page.display()));
    }
    let known = |anchor: &str| anchors(&fs::read_to_string(&file).unwrap()).contains(anchor);
    anchor
        .filter(|anchor| !known(anchor))
        .map(|_| format!("{}: there is no heading {target}", page.display()))
}

#[test]
fn every_link_and_anchor_leads_somewhere() {
    let pages = files(&root(), ".md");
    let mut looked_at = 0;
    let mut mistakes = Vec::new();
    for page in &pages {
        for target in targets(&fs::read_to_string(page).unwrap()) {
            looked_at += 1;
            mistakes.extend(wrong(page, &target));
        }
    }
    assert!(pages.len() > 50 && looked_at > 150, "{} pages, {looked_at} links", pages.len());
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn a_link_to_nowhere_is_noticed() {
    let page = root().join("docs/operations.md");
    assert!(wrong(&page, "api.md").is_none() && wrong(&page, "#stopping").is_none());
    assert!(wrong(&page, "apis.md").is_some() && wrong(&page, "#starting").is_some());
    assert_eq!(targets("[a](b.md#c) `[d](e)`\n```text\n[f](g)\n```\n![h](i.png)"), ["b.md#c", "i.png"]);
    let names = anchors("# 403 `origin_refused`\n## What's new?\n## What's new?\n#no heading");
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["403-origin_refused", "whats-new", "whats-new-1"]);
}
