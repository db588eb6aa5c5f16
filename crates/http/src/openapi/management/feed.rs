//! What the bot reports.

use super::{
    FEED, at, feedback_segment, finish_locked, guild_segment, operation, people::changes, user_segment,
};
use crate::{
    error::ApiError,
    management::replace::{ALL, KINDS},
    openapi::{
        JSON, body, errors, header,
        parameter::{query, segment},
        pattern,
    },
};
use serde_json::{Value, json};
use utoipa::openapi::{
    ArrayBuilder, ContentBuilder, ObjectBuilder, RefOr, Required, Schema, Type,
    path::{Operation, Parameter, ParameterStyle},
    request_body::{RequestBody, RequestBodyBuilder},
};

pub(super) fn put_guild() -> Operation {
    let example = json!({
        "name": "Harbour Town", "icon": null, "members": 1200, "owner": "190000000000000002", "setup": true,
        "linked": false, "roles": {"MOD": ["190000000000000003"]}
    });
    put(
        "putGuild",
        "Report a guild that has the bot",
        "GuildInput",
        &example,
        &errors::of_input(),
        [guild_segment()],
    )
}

pub(super) fn remove_guild() -> Operation {
    remove("removeGuild", "The bot has left a guild", &errors::of_input(), [guild_segment()])
}

pub(super) fn put_member() -> Operation {
    let example = json!({"roles": ["190000000000000003"]});
    let place = [guild_segment(), user_segment()];
    put("putMember", "Report the roles of a member", "MemberInput", &example, &errors::of_member(), place)
}

pub(super) fn remove_member() -> Operation {
    let place = [guild_segment(), user_segment()];
    remove("removeMember", "A member has left, or has no roles", &errors::of_member(), place)
}

pub(super) fn put_plus() -> Operation {
    let example = json!({"guilds": ["190000000000000001"], "slots": 3});
    put(
        "putPlus",
        "Report a user's subscription",
        "PlusInput",
        &example,
        &errors::of_input(),
        [user_segment()],
    )
}

pub(super) fn remove_plus() -> Operation {
    remove("removePlus", "A subscription has ended", &errors::of_input(), [user_segment()])
}

pub(super) fn put_staff() -> Operation {
    let example = json!({"permissions": ["SUPPORT", "DOCWRITER"]});
    put(
        "putStaff",
        "Grant permissions by name",
        "StaffInput",
        &example,
        &errors::of_input(),
        [user_segment()],
    )
}

pub(super) fn remove_staff() -> Operation {
    remove("removeStaff", "Take back what was granted by name", &errors::of_input(), [user_segment()])
}

pub(super) fn put_feedback() -> Operation {
    let submitter = json!({
        "username": "night_owl", "name": "Night Owl", "id": "190000000000000004",
        "avatar": "https://cdn.example/embed/avatars/1.png"
    });
    let example = json!({
        "feedback": "Set up in five minutes.", "rating": 5, "timestamp": 1_700_000_000, "submitter": submitter
    });
    let place = [feedback_segment()];
    put("putFeedback", "Report feedback", "FeedbackInput", &example, &errors::of_input(), place)
}

pub(super) fn remove_feedback() -> Operation {
    remove("removeFeedback", "Take feedback back", &errors::of_input(), [feedback_segment()])
}

pub(super) fn put_team() -> Operation {
    let example = json!([{
        "username": "night_owl", "name": "Night Owl", "avatar": "https://cdn.example/embed/avatars/1.png",
        "discord_id": "190000000000000004", "role": "Lead Developer", "color": "#1ABC9C", "category": "Development",
        "position": 1
    }]);
    let operation = operation(FEED, "putTeam", "Replace the whole team")
        .request_body(Some(json_body("TeamInput", &example)));
    finish_locked(operation.response("200", changes("The team is this one.")), &errors::of_input())
}

pub(super) fn block() -> Operation {
    let operation = operation(FEED, "block", "Block a user")
        .description(Some("A blocked user gets 403 at sign-in and for guilds."))
        .parameter(user_segment())
        .response("200", changes("The user is blocked."));
    finish_locked(operation, &errors::of_input())
}

pub(super) fn unblock() -> Operation {
    remove("unblock", "Let a user in again", &errors::of_input(), [user_segment()])
}

pub(super) fn heartbeat() -> Operation {
    let shard =
        json!({"heartbeatSent": 1_700_000_000.25, "heartbeatAcknowledged": 1_700_000_000.3, "latency": 48});
    let example = json!({"memory": 512.25, "started_at": 1_699_990_000, "shards": {"0": shard}});
    let cluster = segment(
        "cluster",
        "The cluster's id, which the bot chooses.",
        Schema::Object(header::text(pattern::SLUG)),
    );
    let operation = operation(FEED, "putHeartbeat", "A cluster of the bot reports how it is")
        .description(Some("A cluster that does not report for `bot.silent_after` no longer counts."))
        .parameter(cluster)
        .request_body(Some(json_body("HeartbeatInput", &example)))
        .response("200", changes("The report is kept."));
    finish_locked(operation, &errors::of_input())
}

pub(super) fn sync() -> Operation {
    let example = json!({"kind": "blocked", "user": "190000000000000005"});
    let content = ContentBuilder::new().schema(Some(body::named("SyncLine"))).example(Some(example));
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

fn put<const N: usize>(
    id: &str,
    summary: &str,
    shape: &str,
    example: &Value,
    errors: &[ApiError],
    place: [Parameter; N],
) -> Operation {
    let operation = at(operation(FEED, id, summary), place)
        .description(Some("An id of the path may be repeated in the body, as in a line of a sync, and must then be the same."))
        .request_body(Some(json_body(shape, example)))
        .response("200", changes("It is as the body says."));
    finish_locked(operation, errors)
}

fn remove<const N: usize>(id: &str, summary: &str, errors: &[ApiError], place: [Parameter; N]) -> Operation {
    let operation =
        at(operation(FEED, id, summary), place).response("200", changes("It is gone, or was not there."));
    finish_locked(operation, errors)
}

fn json_body(shape: &str, example: &Value) -> RequestBody {
    let content = ContentBuilder::new().schema(Some(body::named(shape))).example(Some(example.clone()));
    RequestBodyBuilder::new().required(Some(Required::True)).content(JSON, content.build()).build()
}
