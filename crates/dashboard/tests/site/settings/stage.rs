//! A guild with settings, and the forms of its page as a browser fills them in.

use crate::browser::{Browser, Site, between, html};
use companion_domain::{
    model::{Entries, GuildId, Outline, OutlineChannel, OutlineRole},
    port::Record,
    settings::{Problem, Schema, Stored},
};
use companion_testkit::{
    api::service::Answer,
    world::{a_guild, an_ownership, guild_id, user_id},
};
use serde_json::{Value, json};
use std::rc::Rc;

/// Returns the schema: one section with every type of field, one that is premium, and two of the bot's team. The tests in
/// a browser have the same.
pub(crate) fn schema() -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap()
}

/// Returns a site with a published schema and a guild 7, whose channels and roles have names.
pub(crate) async fn site() -> Rc<Site> {
    let site = Site::new().await;
    populate(&site).await;
    site
}

/// Puts what [`site`] has.
pub(crate) async fn populate(site: &Site) {
    site.put(Record::Guild(a_guild(7))).await;
    publish(site, schema()).await;
    let channel = |id: u64, name: &str, kind: &str| OutlineChannel {
        id: id.to_string().parse().unwrap(),
        name: name.parse().unwrap(),
        kind: kind.parse().unwrap(),
    };
    let outline = Outline {
        guild: guild(),
        channels: Entries::new(vec![
            channel(71, "hall", "text"),
            channel(72, "stage", "voice"),
            channel(73, "news", "announcement"),
        ])
        .unwrap(),
        roles: Entries::new(vec![a_role(81, "Owls", Some("#AA5500")), a_role(82, "Larks", None)]).unwrap(),
    };
    site.put(Record::Outline(outline)).await;
}

pub(crate) fn a_role(id: u64, name: &str, colour: Option<&str>) -> OutlineRole {
    OutlineRole {
        id: id.to_string().parse().unwrap(),
        name: name.parse().unwrap(),
        colour: colour.map(|colour| colour.parse().unwrap()),
    }
}

pub(crate) fn guild() -> GuildId {
    guild_id(7)
}

pub(crate) async fn publish(site: &Site, schema: Value) {
    let schema: Schema = serde_json::from_value(schema).unwrap();
    site.use_cases.settings.publish(&schema).await.unwrap();
}

/// Returns a browser of user 1, who owns the guild.
pub(crate) async fn owner(site: &Rc<Site>) -> Browser {
    Browser::signed_in(site, 1, vec![an_ownership(7)]).await
}

/// Returns a site with settings, and a browser of the owner of the guild.
pub(crate) async fn owned() -> (Rc<Site>, Browser) {
    let site = site().await;
    let browser = owner(&site).await;
    (site, browser)
}

/// Like [`owned`], with the form of the first section as it is shown.
pub(crate) async fn opened() -> (Rc<Site>, Browser, SectionForm) {
    let (site, browser) = owned().await;
    let form = SectionForm::open(&browser, "welcome").await;
    (site, browser, form)
}

/// Sets values as the bot does for user 9.
pub(crate) async fn set(site: &Site, values: Value) {
    let values = serde_json::from_value::<std::collections::BTreeMap<_, _>>(values).unwrap();
    let changed = site.use_cases.settings.change(guild(), values, Some(user_id(9)), None).await;
    assert!(changed.unwrap().is_some());
}

pub(crate) async fn stored(site: &Site) -> Stored {
    site.use_cases.settings.store.find(guild()).await.unwrap()
}

/// Returns the values that are set, as JSON.
pub(crate) async fn values(site: &Site) -> Value {
    json!(stored(site).await.values)
}

/// Confirms the current revision as the bot does.
pub(crate) async fn confirm(site: &Site, problems: &[(&str, &str)]) {
    let problem = |(key, message): &(&str, &str)| Problem {
        key: key.parse().unwrap(),
        message: message.parse().unwrap(),
    };
    let problems: Vec<_> = problems.iter().map(problem).collect();
    let revision = stored(site).await.revision;
    site.use_cases.settings.confirm(guild(), revision, &problems).await.unwrap();
}

fn unescaped(text: &str) -> String {
    let entities = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

/// Returns the value of an attribute of the tag at the beginning of the text.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let tag = &tag[..tag.find('>')?];
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(unescaped(rest.split_once('"')?.0))
}

/// A form of the page, with what it contains.
pub(crate) struct SectionForm(pub(crate) Vec<(String, String)>);

impl SectionForm {
    /// Reads what a browser would send of a section.
    pub(crate) fn of(page: &str, section: &str) -> Self {
        let section = between(page, &format!("id=\"section-{section}\""), "</section>");
        let mut fields = Vec::new();
        for (place, _) in section.match_indices('<') {
            let tag = &section[place..];
            let name = attribute(tag, "name");
            let head = &tag[..tag.find('>').unwrap()];
            if tag.starts_with("<textarea") {
                let text = between(tag, ">\n", "</textarea>");
                fields.push((name.unwrap(), unescaped(text).replace('\n', "\r\n")));
            } else if tag.starts_with("<select") {
                let options = between(tag, ">", "</select>");
                let chosen = options.find(" selected").map(|at| options[..at].rfind("<option").unwrap());
                fields.push((name.unwrap(), attribute(&options[chosen.unwrap()..], "value").unwrap()));
            } else if tag.starts_with("<input") {
                let is_box = head.contains("type=\"checkbox\"") || head.contains("type=\"radio\"");
                if !is_box || head.ends_with(" checked") {
                    fields.push((name.unwrap(), attribute(tag, "value").unwrap_or_default()));
                }
            }
        }
        Self(fields)
    }

    /// Returns the form of a section on the page of the guild.
    pub(crate) async fn open(browser: &Browser, section: &str) -> Self {
        Self::of(&browser.page("/guilds/7").await, section)
    }

    /// Fills in inputs: those with this name are replaced by one for each text.
    pub(crate) fn fill(&mut self, name: &str, texts: &[&str]) {
        self.0.retain(|(field, _)| field != name);
        self.0.extend(texts.iter().map(|text| (name.to_owned(), (*text).to_owned())));
    }

    pub(crate) fn get(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) async fn send(&self, browser: &Browser) -> Answer {
        let fields: Vec<_> = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        browser.post("/guilds/7", &fields).await
    }

    /// Sends the form, which must be saved.
    pub(crate) async fn save(&self, browser: &Browser) {
        let answer = self.send(browser).await;
        assert_eq!(answer.status, 303, "{}", html(&answer));
    }
}
