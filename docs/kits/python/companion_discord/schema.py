"""The schema of settings as types, in the members of the management API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

Permission = Literal[
    "MANAGE_SERVER",
    "ADMIN",
    "MOD",
    "ERLC_MANAGER",
    "ERLC_ADMIN",
    "ERLC_STAFF",
    "SESSION_STARTER",
    "SETUP",
    "ERLC_LINKED",
    "SERVICE_PLUS_GUILD",
    "SERVICE_PLUS_MEMBER",
    "FOUNDER",
    "BOT_DEVELOPER",
    "EXECUTIVE",
    "MANAGEMENT",
    "WEB_DEVELOPER",
    "SUPPORT",
    "SERVICE_STAFF",
    "QUALITY_ASSURANCE",
    "DOCWRITER",
]


class Choice(TypedDict):
    value: str
    title: str


class _ManyMax(TypedDict):
    max: int


class Many(_ManyMax, total=False):
    """Bounds of a field whose value is a list."""

    min: int


class _FieldKey(TypedDict):
    key: str
    type: Literal["boolean", "integer", "number", "text", "choice", "color", "channel", "role"]
    title: str


class Field(_FieldKey, total=False):
    """A field of a section. Without a `default` it is unset: `None`."""

    description: str
    default: Any
    min: float
    max: float
    unit: str
    min_length: int
    max_length: int
    multiline: bool
    choices: Sequence[Choice]
    kinds: Sequence[Literal["text", "voice", "category", "forum", "announcement"]]
    many: Many


class _SectionKey(TypedDict):
    key: str
    title: str
    permission: Permission
    fields: Sequence[Field]


class Section(_SectionKey, total=False):
    """Fields that users with `permission` may edit."""

    description: str
    plus: bool
    visible: bool
