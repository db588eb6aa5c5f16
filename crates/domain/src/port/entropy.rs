//! Randomness.

/// Gives random bytes that nobody can predict. Tests give predictable ones.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}
