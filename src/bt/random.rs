//! Repeatable random numbers: the same seed gives the same run (guarantee G9).

/// A xorshift generator (Marsaglia 2003, 64 bits, with the multiplication of Vigna 2016), with one word of state. For
/// choosing a child, not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Zero is a fixed point of the generator.
        Self(seed ^ 0x9E37_79B9_7F4A_7C15).not_zero()
    }

    fn not_zero(self) -> Self {
        Self(if self.0 == 0 { 1 } else { self.0 })
    }

    pub(crate) fn state(&self) -> u64 {
        self.0
    }

    pub(crate) fn restore(&mut self, state: u64) {
        *self = Self(state).not_zero();
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number, uniform in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The seed of one of several trees that share a base seed. Each tree gets its own sequence, the same in every run.
/// Uses SplitMix64 (Steele, Lea, Flood 2014), because consecutive seeds give similar first numbers in a xorshift.
pub fn instance_seed(seed: u64, instance: u64) -> u64 {
    let mut word = seed.wrapping_add(instance.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl Default for Random {
    fn default() -> Self {
        Self::new(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, instance_seed};

    #[test]
    fn trees_with_one_seed_differ_and_repeat() {
        let firsts = |seed| {
            (0..100)
                .map(|instance| Random::new(instance_seed(seed, instance)).next())
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(firsts(1).len(), 100);
        assert_eq!(firsts(1), firsts(1));
        assert!(firsts(1).is_disjoint(&firsts(2)));
    }

    #[test]
    fn a_seed_repeats_and_numbers_are_spread() {
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
