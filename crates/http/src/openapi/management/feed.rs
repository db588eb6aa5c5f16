//! What the bot reports.

use super::{FEED, finish_locked, operation, people::changes, under_key};
use crate::{
    management::replace::{ALL, KINDS},
    openapi::{
        JSON, errors,
        parameter::{query, reference},
        success::success,
    },
    wire,
};
use companion_records::{ClusterReport, MemberRecord, Record, SyncLine, Team};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::{
    ArrayBuilder, ContentBuilder, HttpMethod, ObjectBuilder, RefOr, Required, Schema, Type,
    path::{Operation, Parameter, ParameterStyle},
    request_body::{RequestBody, RequestBodyBuilder},
};

/// The operations on records that are kept under their key: look-up, report and removal, each with its name and summary.
pub(super) fn kept<R: Record + ToSchema>(
    [get, put, remove]: [(&str, &str); 3],
) -> Vec<(HttpMethod, Operation)> {
    let member = R::KIND == MemberRecord::KIND;
    let change = if member { errors::of_member() } else { errors::of_input() };
    let look_up = if member { errors::of_member() } else { errors::of_look_up() };
    let on = |(id, summary)| under_key::<R>(operation(FEED, id, summary));
    let stored = success("What is stored.", reference::<R>(), "no-store");
    let get = on(get)
        .description(Some("In the fields that a PUT takes, so that the answer can be put back."))
        .response("200", stored);
    let put = on(put).response("200", changes("It is stored."));
    let put = if R::HAS_FIELDS {
        let repeated = "An id of the path may be repeated in the body, as in a line of a sync, and must then be the same.";
        put.description(Some(repeated)).request_body(Some(json_body::<R>(R::example())))
    } else {
        put
    };
    let remove = on(remove).response("200", changes("It is gone, or was not there."));
    vec![
        (HttpMethod::Get, finish_locked(get, &look_up)),
        (HttpMethod::Put, finish_locked(put, &change)),
        (HttpMethod::Delete, finish_locked(remove, &change)),
    ]
}

pub(super) fn why() -> Operation {
    let answer = success("The explanation.", reference::<wire::Explanation<'_>>(), "no-store");
    let operation =
        operation(FEED, "explainGuild", "What a user is shown of a guild, and why")
            .description(Some(
                "By what is stored: the platform is not asked. Users and guilds that nothing is known of are explained \
                 too.",
            ))
            .response("200", answer);
    finish_locked(under_key::<MemberRecord>(operation), &errors::of_input())
}

pub(super) fn put_team() -> Operation {
    let operation = operation(FEED, "putTeam", "Replace the whole team")
        .request_body(Some(json_body::<Team>(Team::example())));
    finish_locked(operation.response("200", changes("The team is this one.")), &errors::of_input())
}

pub(super) fn heartbeat() -> Operation {
    let operation = operation(FEED, "putHeartbeat", "A cluster of the bot reports how it is")
        .description(Some("A cluster that does not report for `bot.silent_after` no longer counts."))
        .request_body(Some(json_body::<ClusterReport>(ClusterReport::example())))
        .response("200", changes("The report is kept."));
    finish_locked(under_key::<ClusterReport>(operation), &errors::of_input())
}

pub(super) fn sync() -> Operation {
    let content =
        ContentBuilder::new().schema(Some(reference::<SyncLine>())).example(Some(SyncLine::example()));
    let stream = RequestBodyBuilder::new()
        .description(Some(
            "Any number of lines of this shape, in any order, each ended by a newline (newline-delimited JSON). What the \
             stream is called in `Content-Type` does not matter.",
        ))
        .required(Some(Required::False))
        .content(JSON, content.build());
    let operation = operation(FEED, "sync", "Report the whole world, as one change")
        .description(Some(
            "The stream may be of any length, and may take any time as long as something comes every 30 seconds. Of lines \
             with the same key the last one counts. Nothing changes unless \
             every line is right and the stream comes to its end; `data.fields` names the first wrong line. A member's \
             guild must be known, or come in the same stream. `shard` and `shards` go together.",
        ))
        .parameter(replace_parameter())
        .parameter(query("shard", "Replace guilds and members of this shard only; below `shards`.", shard_number(0)))
        .parameter(query("shards", "How many shards the bot has.", shard_number(1)))
        .request_body(Some(stream.build()))
        .response("200", changes("The world is as the stream says."));
    finish_locked(operation, &errors::of_sync())
}

fn replace_parameter() -> Parameter {
    let names: Vec<_> = [ALL].into_iter().chain(KINDS.map(|(name, _)| name)).collect();
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).build();
    let list = ArrayBuilder::new().items(RefOr::T(Schema::Object(name))).min_items(Some(1));
    let description =
        "Kinds of which everything disappears that the stream leaves out. Without it nothing disappears.";
    query("replace", description, list).style(Some(ParameterStyle::Form)).explode(Some(false)).build()
}

fn shard_number(smallest: u32) -> Schema {
    let number =
        ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(smallest)).maximum(Some(u32::MAX));
    Schema::Object(number.build())
}

fn json_body<T: ToSchema>(example: Value) -> RequestBody {
    let content = ContentBuilder::new().schema(Some(reference::<T>())).example(Some(example));
    RequestBodyBuilder::new().required(Some(Required::True)).content(JSON, content.build()).build()
}
