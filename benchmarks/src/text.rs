//! Text made up for indexing at size: words by Zipf's law, sentences, paragraphs, headings. Seeded.

use anyhow::Context;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::fmt::Write;
use std::path::Path;

/// Distinct words.
const VOCABULARY: usize = 60_000;
/// Bytes of one file.
const FILE_BYTES: usize = 512 << 10;

/// Writes files of made-up Markdown with `bytes` in all.
pub fn write(folder: &Path, bytes: u64, seed: u64) -> anyhow::Result<u64> {
    let words = vocabulary(seed);
    let mut random = StdRng::seed_from_u64(seed);
    let (mut written, mut file) = (0, 0);
    while written < bytes {
        let text = document(&words, &mut random, FILE_BYTES.min(usize::try_from(bytes - written)?));
        let path = folder.join(format!("{:03}/{file:05}.md", file / 100));
        let parent = path.parent().context("the path has a folder")?;
        std::fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
        std::fs::write(&path, &text).with_context(|| format!("writing {}", path.display()))?;
        written += text.len() as u64;
        file += 1;
    }
    Ok(written)
}

/// Pronounceable words, short ones first, as frequent words are.
fn vocabulary(seed: u64) -> Vec<String> {
    const ONSETS: [&str; 16] = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl"];
    const VOWELS: [&str; 7] = ["a", "e", "i", "o", "u", "ea", "io"];
    let mut random = StdRng::seed_from_u64(seed ^ 0x5eed);
    let syllable =
        |random: &mut StdRng| format!("{}{}", ONSETS[random.random_range(0..ONSETS.len())], VOWELS[random.random_range(0..VOWELS.len())]);
    (0..VOCABULARY).map(|rank| (0..1 + (rank as f64).log10() as usize).map(|_| syllable(&mut random)).collect()).collect()
}

fn document(words: &[String], random: &mut StdRng, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 512);
    while text.len() < bytes {
        if random.random_range(0..8) == 0 {
            let _ = write!(text, "\n## {} {}\n\n", word(words, random), word(words, random));
        }
        for _ in 0..random.random_range(3..8) {
            let length = random.random_range(6..24);
            let sentence: Vec<&str> = (0..length).map(|_| word(words, random)).collect();
            let _ = write!(text, "{}. ", sentence.join(" "));
        }
        text.push_str("\n\n");
    }
    text
}

/// P(rank) is proportional to 1 / rank: rank = vocabulary^u for uniform u.
fn word<'a>(words: &'a [String], random: &mut StdRng) -> &'a str {
    let rank = (words.len() as f64).powf(random.random::<f64>());
    &words[(rank as usize).min(words.len() - 1)]
}
