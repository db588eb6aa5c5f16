//! Numbers that are given back exactly as they came.

use super::Invalid;

/// A JSON number that the service does not interpret, such as a shard's latency: a whole number stays whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number.
    Integer(i64),
    /// A finite number with a fraction or an exponent.
    Fraction(Finite),
}

impl Number {
    /// The number with this floating-point value.
    pub fn fraction(value: f64) -> Result<Self, Invalid> {
        Finite::new(value).map(Self::Fraction)
    }

    /// Its value, as near as floating point comes.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an approximation is what this promises")]
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Integer(whole) => whole as f64,
            Self::Fraction(fraction) => fraction.0,
        }
    }
}

/// A floating-point number that is neither infinite nor NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finite(f64);

impl Finite {
    /// The number, where it is finite.
    pub fn new(value: f64) -> Result<Self, Invalid> {
        if value.is_finite() { Ok(Self(value)) } else { Err(Invalid::new("number", "a finite number")) }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// An amount of memory in megabytes: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Megabytes(f64);

impl Megabytes {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// The most that one cluster can claim: an exabyte, so that sums stay far from the edge of the type.
    pub const MAX: f64 = 1e12;

    /// So many megabytes.
    pub fn new(value: f64) -> Result<Self, Invalid> {
        if (0.0..=Self::MAX).contains(&value) {
            Ok(Self(value))
        } else {
            Err(Invalid::new("memory", "a number of megabytes from 0 to 1000000000000"))
        }
    }

    /// How many megabytes.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The same amount with two decimals.
    #[must_use]
    pub fn rounded(self) -> Self {
        Self((self.0 * 100.0).round() / 100.0)
    }
}

impl std::iter::Sum for Megabytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        // The sum of no floating-point numbers is minus zero.
        Self(amounts.fold(0.0, |sum, amount| sum + amount.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_whole_ones_stay_whole() {
        assert_eq!(Number::Integer(3).as_f64(), 3.0);
        assert_eq!(Number::fraction(0.5).map(Number::as_f64), Ok(0.5));
        assert_eq!(Finite::new(2.5).map(Finite::get), Ok(2.5));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Number::fraction(value).unwrap_err().field, "number");
        }
    }

    #[test]
    fn memory_is_neither_negative_nor_absurd() {
        for value in [0.0, 512.25, Megabytes::MAX] {
            assert_eq!(Megabytes::new(value).map(Megabytes::get), Ok(value));
        }
        for value in [-0.01, f64::NAN, f64::INFINITY, Megabytes::MAX * 1.01] {
            assert_eq!(Megabytes::new(value).unwrap_err().field, "memory", "{value}");
        }
    }

    #[test]
    fn nothing_adds_up_to_a_plain_zero() {
        for amounts in [&[][..], &[-0.0]] {
            let sum: Megabytes = amounts.iter().map(|amount| Megabytes::new(*amount).unwrap()).sum();
            assert_eq!(format!("{:?}", sum.rounded().get()), "0.0");
        }
    }

    #[test]
    fn memory_is_rounded_to_two_decimals() {
        for (value, rounded) in [(1.004, 1.0), (1.006, 1.01), (99.999, 100.0)] {
            assert_eq!(Megabytes::new(value).unwrap().rounded().get(), rounded);
        }
    }
}
