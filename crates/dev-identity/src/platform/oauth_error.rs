//! Errors in the words of OAuth (RFC 6749, 5.2).

/// Why a token request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OauthError {
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    UnsupportedGrantType,
}

impl OauthError {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnsupportedGrantType => "unsupported_grant_type",
        }
    }

    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::InvalidRequest => "A parameter is missing, comes twice, or makes no sense.",
            Self::InvalidClient => "The client is unknown, or its secret is wrong.",
            Self::InvalidGrant => {
                "The code or token is unknown, expired, used, or came with the wrong terms."
            }
            Self::UnsupportedGrantType => "Only authorization_code and refresh_token are known.",
        }
    }
}
