//! Numbers that are returned exactly as they were received.

use super::Invalid;

/// A JSON number that the service does not interpret, such as a shard's latency. An integer stays an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// A finite number with a fraction or an exponent.
    Fraction(Finite),
}

impl Number {
    /// Creates a number from a floating-point value.
    pub fn fraction(value: f64) -> Result<Self, Invalid> {
        Finite::new(value).map(Self::Fraction)
    }

    /// Returns the nearest floating-point value.
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
    /// Creates the number, if it is finite.
    pub fn new(value: f64) -> Result<Self, Invalid> {
        if value.is_finite() { Ok(Self(value)) } else { Err(Invalid::new("number", "a finite number")) }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// An amount of memory in megabytes: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Megabytes(f64);

impl Megabytes {
    /// Zero megabytes.
    pub const ZERO: Self = Self(0.0);
    /// The most that one cluster can report: an exabyte, so that sums stay far below the limits of the type.
    pub const MAX: f64 = 1e12;

    /// Validates an amount of memory.
    pub fn new(value: f64) -> Result<Self, Invalid> {
        if (0.0..=Self::MAX).contains(&value) {
            Ok(Self(value))
        } else {
            Err(Invalid::new("memory", "a number of megabytes from 0 to 1000000000000"))
        }
    }

    /// Returns the number of megabytes.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns the sum of these amounts, rounded to two decimals.
    #[must_use]
    pub fn sum(amounts: impl Iterator<Item = Self>) -> Self {
        // An empty iterator of `f64` sums to -0.0.
        let sum = amounts.fold(0.0, |sum, amount| sum + amount.0);
        Self((sum * 100.0).round() / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_integers_stay_integers() {
        assert_eq!(Number::Integer(3).as_f64(), 3.0);
        assert_eq!(Number::fraction(0.5).map(Number::as_f64), Ok(0.5));
        assert_eq!(Finite::new(2.5).map(Finite::get), Ok(2.5));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Number::fraction(value).unwrap_err().field, "number");
        }
    }

    #[test]
    fn memory_is_non_negative_and_bounded() {
        for value in [0.0, 512.25, Megabytes::MAX] {
            assert_eq!(Megabytes::new(value).map(Megabytes::get), Ok(value));
        }
        for value in [-0.01, f64::NAN, f64::INFINITY, Megabytes::MAX * 1.01] {
            assert_eq!(Megabytes::new(value).unwrap_err().field, "memory", "{value}");
        }
    }

    #[test]
    fn sums_are_rounded_and_never_negative_zero() {
        for (amounts, expected) in [
            (&[][..], "0.0"),
            (&[-0.0], "0.0"),
            (&[1.0, 0.004], "1.0"),
            (&[1.006], "1.01"),
            (&[99.999], "100.0"),
        ] {
            let sum = Megabytes::sum(amounts.iter().map(|amount| Megabytes::new(*amount).unwrap()));
            assert_eq!(format!("{:?}", sum.get()), expected);
        }
    }
}
