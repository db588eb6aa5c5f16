//! The JSON formats of the domain's values. The limits are those of the domain.

use crate::{
    format::{Format, Written, closed_object},
    node::{FieldErrors, Node},
    pattern,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_domain::{
    model::{
        ChannelId, ChannelKind, ClusterId, Colour, Description, FeedbackId, GuildId, Headline, Invalid,
        Label, Megabytes, MemberCount, Name, NoticeId, NoticeKind, NoticeText, Number, PeriodSubject,
        PlatformPermissions, Prose, Rating, RoleBindings, RoleId, RoleKey, RoleSet, ShardCount, Slots,
        StaffPermission, StaffPermissions, SubscribedGuilds, Timestamp, Title, UserId, WebUrl,
    },
    policy::Permission,
    port::Sealed,
    session::{TokenHash, UserAgent},
    settings::{self, FieldKind, Origin, PartKey, SettingKey},
};
use serde::{Deserialize as _, Serialize as _, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema,
        schema::{SchemaType, Type},
    },
};

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn whole() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer)
}

fn number() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Number)
}

fn bounded(length: &std::ops::RangeInclusive<usize>) -> ObjectBuilder {
    text()
        .pattern(Some(pattern::WITHOUT_NUL))
        .min_length(Some(*length.start()))
        .max_length(Some(*length.end()))
}

/// Values that are text, with `Display` as the inverse of `FromStr`.
macro_rules! texts {
    ($($type:ty: $schema:expr;)+) => {
        $(impl Format for $type {
            type Value = Self;

            fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self> {
                node.text(errors)
            }

            fn write<S: Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(value)
            }

            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        })+
    };
}

texts! {
    Name: bounded(&Name::LENGTH);
    Label: bounded(&Label::LENGTH);
    ChannelKind: text().enum_values(Some(ChannelKind::ALL.map(ChannelKind::as_str)));
    Origin: text();
    NoticeKind: text().enum_values(Some(NoticeKind::ALL.map(NoticeKind::as_str)));
    Headline: bounded(&Headline::LENGTH);
    NoticeText: bounded(&NoticeText::LENGTH);
    NoticeId: text().pattern(Some(pattern::SLUG));
    PeriodSubject: text();
    Title: bounded(&Title::LENGTH);
    Description: bounded(&Description::LENGTH);
    PartKey: text().pattern(Some(format!("^{}$", PartKey::PATTERN)));
    SettingKey: text().pattern(Some(format!("^{0}\\.{0}$", PartKey::PATTERN)));
    FieldKind: text().enum_values(Some(FieldKind::ALL.map(FieldKind::as_str)));
    StaffPermission: text().enum_values(Some(StaffPermission::ALL.map(StaffPermission::as_str)));
    Permission: text().enum_values(Some(Permission::ALL.map(Permission::as_str)));
    Prose: bounded(&Prose::LENGTH);
    WebUrl: text().pattern(Some(pattern::web_url())).max_length(Some(WebUrl::MAX_LENGTH));
    Colour: text().pattern(Some(pattern::COLOUR));
    FeedbackId: text().pattern(Some(pattern::SLUG));
    ClusterId: text().pattern(Some(pattern::SLUG));
    TokenHash: text().pattern(Some(pattern::HASH));
    UserAgent: bounded(&(1..=UserAgent::MAX));
    UserId: Ref::from_schema_name(Snowflake::name());
    GuildId: Ref::from_schema_name(Snowflake::name());
    RoleId: Ref::from_schema_name(Snowflake::name());
    ChannelId: Ref::from_schema_name(Snowflake::name());
}

/// An id of the platform. Sent as text, since the number is too large for JavaScript.
#[derive(Debug)]
pub enum Snowflake {}

impl PartialSchema for Snowflake {
    fn schema() -> RefOr<Schema> {
        text()
            .description(Some("An id of the platform: a 64-bit number above zero, as text."))
            .pattern(Some(pattern::from_one_to(u64::MAX)))
            .examples(["190000000000000001"])
            .into()
    }
}

impl ToSchema for Snowflake {}

/// Values with their own conversion from and to a single JSON value.
macro_rules! values {
    ($($(#[$doc:meta])* $type:ty as $value:ty {
        read |$node:ident, $errors:ident| $read:expr;
        write |$it:ident, $serializer:ident| $write:expr;
        schema $schema:expr;
    })+) => {
        $($(#[$doc])*
        impl Format for $type {
            type Value = $value;

            fn read($node: Node<'_, '_>, $errors: &mut FieldErrors) -> Option<$value> {
                $read
            }

            fn write<S: Serializer>($it: &$value, $serializer: S) -> Result<S::Ok, S::Error> {
                $write
            }

            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        })+
    };
}

/// Seconds since 1970. A fraction is dropped.
pub(crate) enum Seconds {}

/// Microseconds since 1970. Only written by this service.
pub(crate) enum Micros {}

values! {
    bool as bool {
        read |node, errors| node.boolean(errors);
        write |it, serializer| serializer.serialize_bool(*it);
        schema ObjectBuilder::new().schema_type(Type::Boolean);
    }
    i32 as i32 {
        read |node, errors| node.integer(|number| number.try_into().map_err(|_| POSITION), errors);
        write |it, serializer| serializer.serialize_i32(*it);
        schema whole().minimum(Some(i32::MIN)).maximum(Some(i32::MAX));
    }
    u32 as u32 {
        read |node, errors| node.integer(|number| number.try_into().map_err(|_| NOT_NEGATIVE), errors);
        write |it, serializer| serializer.serialize_u32(*it);
        schema whole().minimum(Some(0)).maximum(Some(u32::MAX));
    }
    u64 as u64 {
        read |node, errors| {
            node.value.as_u64().or_else(|| node.refuse(errors, "must be a whole number of at least 0"))
        };
        write |it, serializer| serializer.serialize_u64(*it);
        schema whole().minimum(Some(0));
    }
    f64 as f64 {
        read |node, errors| node.number(Ok, errors);
        write |it, serializer| serializer.serialize_f64(*it);
        schema number();
    }
    settings::Value as settings::Value {
        read |node, errors| {
            let expected = "must be true, false, a number, text or a list of text";
            Self::deserialize(node.value).ok().or_else(|| node.refuse(errors, expected))
        };
        write |it, serializer| it.serialize(serializer);
        schema ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    }
    MemberCount as MemberCount {
        read |node, errors| count(node, MemberCount::new, errors);
        write |it, serializer| serializer.serialize_u32(it.get());
        schema whole().minimum(Some(0)).maximum(Some(MemberCount::MAX));
    }
    Slots as Slots {
        read |node, errors| count(node, Slots::new, errors);
        write |it, serializer| serializer.serialize_u32(it.get());
        schema whole().minimum(Some(0)).maximum(Some(Slots::MAX));
    }
    ShardCount as ShardCount {
        read |node, errors| count(node, ShardCount::new, errors);
        write |it, serializer| serializer.serialize_u32(it.get().get());
        schema whole().minimum(Some(1)).maximum(Some(ShardCount::MAX));
    }
    Rating as Rating {
        read |node, errors| node.integer(Rating::new, errors);
        write |it, serializer| serializer.serialize_u8(it.stars());
        schema whole().minimum(Some(1)).maximum(Some(5));
    }
    Megabytes as Megabytes {
        read |node, errors| node.number(Megabytes::new, errors);
        write |it, serializer| serializer.serialize_f64(it.get());
        schema number().minimum(Some(0)).maximum(Some(Megabytes::MAX));
    }
    // A number that the service does not interpret: an integer stays an integer.
    Number as Number {
        read |node, errors| match node.value.as_i64() {
            Some(whole) => Some(Number::Integer(whole)),
            None => node.number(Number::fraction, errors),
        };
        write |it, serializer| match it {
            Number::Integer(whole) => serializer.serialize_i64(*whole),
            Number::Fraction(fraction) => serializer.serialize_f64(fraction.get()),
        };
        schema number();
    }
    Seconds as Timestamp {
        read |node, errors| node.seconds(errors);
        write |it, serializer| serializer.serialize_i64(it.seconds());
        schema number().minimum(Some(0)).exclusive_maximum(Some(Timestamp::MAX_SECONDS + 1));
    }
    // Fractions and exponents are rejected, since the parsed number might not be exact.
    Micros as Timestamp {
        read |node, errors| {
            let micros = node.value.as_i64().map(Timestamp::from_micros);
            micros.or_else(|| node.refuse(errors, "must be a whole number of microseconds"))
        };
        write |it, serializer| serializer.serialize_i64(it.micros());
        schema whole();
    }
    Sealed as Sealed {
        read |node, errors| {
            let bytes = node.value.as_str().and_then(|text| STANDARD.decode(text).ok());
            bytes.map(Sealed::from_bytes).or_else(|| node.refuse(errors, "must be base64"))
        };
        write |it, serializer| serializer.serialize_str(&STANDARD.encode(it.as_bytes()));
        schema text();
    }
    PlatformPermissions as PlatformPermissions {
        read |node, errors| node.text(errors);
        write |it, serializer| serializer.collect_str(&it.bits());
        schema text();
    }
    StaffPermissions as StaffPermissions {
        read |node, errors| Some(Vec::<StaffPermission>::read(node, errors)?.into_iter().collect());
        write |it, serializer| serializer.collect_seq(it.iter().map(StaffPermission::as_str));
        schema Vec::<StaffPermission>::schema();
    }
}

const NOT_NEGATIVE: Invalid = Invalid::new("number", "a whole number of at least 0");

const POSITION: Invalid = Invalid::new("position", "a whole number from -2147483648 to 2147483647");

fn count<T>(
    node: Node<'_, '_>,
    make: impl FnOnce(u64) -> Result<T, Invalid>,
    errors: &mut FieldErrors,
) -> Option<T> {
    node.integer(|number| make(u64::try_from(number).unwrap_or(u64::MAX)), errors)
}

/// Lists of bounded length.
macro_rules! lists {
    ($($list:ty: $item:ty),+) => {
        $(impl Format for $list {
            type Value = Self;

            fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self> {
                let items = node.list(errors, <$item as Format>::read)?;
                node.accept(<$list>::new(items), errors)
            }

            fn write<S: Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(value.as_slice().iter().map(Written::<$item>))
            }

            fn schema() -> RefOr<Schema> {
                ArrayBuilder::new()
                    .items(<$item as Format>::schema())
                    .max_items(Some(<$list>::MAX))
                    .into()
            }
        })+
    };
}

pub(crate) use lists;

lists!(RoleSet: RoleId, SubscribedGuilds: GuildId);

impl Format for RoleBindings {
    type Value = Self;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self> {
        let bound = node.map(errors, |name, node, errors| {
            let roles = RoleSet::read(node, errors);
            let key: Option<RoleKey> = node.accept(name.parse(), errors);
            Some((key?, roles?))
        })?;
        Some(Self::new(bound))
    }

    fn write<S: Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(value.iter().map(|(key, roles)| (key.as_str(), Written::<RoleSet>(roles))))
    }

    fn schema() -> RefOr<Schema> {
        let with_key =
            |object: ObjectBuilder, key: &RoleKey| object.property(key.as_str(), RoleSet::schema());
        RoleKey::ALL.iter().fold(closed_object(), with_key).into()
    }
}
