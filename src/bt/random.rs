//! Random numbers that repeat: the same seed gives the same run (guarantee G9).

/// A xorshift generator (Marsaglia 2003, 64 bits, multiplied as Vigna 2016 proposes): one word of state. Good for
/// choosing a child, not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Zero is the one state that the generator never leaves.
        Self(seed ^ 0x9E37_79B9_7F4A_7C15).not_zero()
    }

    fn not_zero(self) -> Self {
        Self(if self.0 == 0 { 1 } else { self.0 })
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Evenly in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Default for Random {
    fn default() -> Self {
        Self::new(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_repeats_and_numbers_spread() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1000).map(|_| random.unit()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let numbers = draw(0);
        let mean = numbers.iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
    }
}
