//! Randomness.

use zeroize::Zeroizing;

/// Gives random bytes that nobody can predict, and no two handles the same. Tests give predictable ones.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// As many as a key, a token or a seed has.
    fn draw(&self) -> Zeroizing<[u8; 32]> {
        let mut drawn = Zeroizing::new([0; 32]);
        self.fill(drawn.as_mut_slice());
        drawn
    }
}
