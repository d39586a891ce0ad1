//! Who may push out whom: TinyLFU. A full cache keeps what is asked for often, so that a thousand one-off goals do not
//! flush the hundred that come back.
//!
//! A small sketch counts how often each key was looked up lately (four rows of saturating counters, halved when
//! [`SAMPLE`] look-ups have passed). A newcomer enters a full cache only if it was asked for at least as often as the
//! least recently used entry it would displace. Source: Einziger, Friedman, Manes, "TinyLFU", ACM ToS 13(4), 2017.

/// Counters per row: eight per entry at the two thousand plans that fit the default bound.
const WIDTH: usize = 16_384;
/// Rows: independent positions per key.
const ROWS: usize = 4;
/// Counters saturate here, as in the paper: the order of the frequent does not matter.
const COUNT_MAX: u8 = 15;
/// Look-ups after which every counter is halved: ten per counter-sized entry, as in the paper.
pub const SAMPLE: u32 = 20_480;

/// Approximate recent frequency of keys.
#[derive(Clone, Debug)]
pub(crate) struct Frequency {
    counters: Vec<u8>,
    seen: u32,
}

impl Default for Frequency {
    fn default() -> Frequency {
        Frequency { counters: vec![0; WIDTH * ROWS], seen: 0 }
    }
}

impl Frequency {
    /// Counts one look-up.
    pub(crate) fn count(&mut self, hash: u128) {
        for at in positions(hash) {
            self.counters[at] = COUNT_MAX.min(self.counters[at] + 1);
        }
        self.seen += 1;
        if self.seen >= SAMPLE {
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
            self.seen /= 2;
        }
    }

    /// How often, at most [`COUNT_MAX`]; never below the truth since the last halving.
    pub(crate) fn of(&self, hash: u128) -> u8 {
        positions(hash).map(|at| self.counters[at]).min().unwrap_or(0)
    }
}

/// One position per row, from disjoint parts of a hash that is uniform already.
fn positions(hash: u128) -> impl Iterator<Item = usize> {
    (0..ROWS).map(move |row| row * WIDTH + ((hash >> (32 * row)) as usize % WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::hash_of;

    #[test]
    fn counts_never_fall_below_the_truth_and_fade() {
        let mut frequency = Frequency::default();
        let (often, once) = (hash_of(b"often"), hash_of(b"once"));
        (0..6).for_each(|_| frequency.count(often));
        frequency.count(once);
        assert!(frequency.of(often) >= 6 && frequency.of(once) >= 1);
        assert!(frequency.of(often) > frequency.of(once));
        for i in 0..SAMPLE {
            frequency.count(hash_of(&i.to_le_bytes()));
        }
        assert!(frequency.of(often) <= 6, "halving did not happen: {}", frequency.of(often));
    }
}
