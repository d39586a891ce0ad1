//! Bytes to text: encodings, byte-order marks, line ends and NUL, in this one place, with a map back to the disk.
//!
//! The text has LF line ends only (a lone CR is a line end too, as editors read it), no byte-order mark at its start and
//! no NUL (a space stands in its place). Bytes that no encoding explains become U+FFFD and are counted.

use crate::document::Warning;
use crate::offsets::OffsetMap;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// Bytes shown to the encoding detector. A shorter head is the whole file.
pub(crate) const DETECT_BYTES: usize = 1 << 16;

/// Valid multi-byte characters per invalid sequence from which broken UTF-8 is still taken as UTF-8.
const UTF8_VALID_PER_INVALID: usize = 4;

/// Text with its way back to the bytes.
#[derive(Clone, Debug)]
pub struct Decoded<'a> {
    /// LF only, no byte-order mark, no NUL.
    pub text: Cow<'a, str>,
    /// Offsets of `text` to offsets on disk.
    pub map: OffsetMap,
    /// What was repaired.
    pub warnings: Vec<Warning>,
}

/// What stands for a character that arrives by an escape (JSON, HTML) instead of a byte: the same rule as for bytes.
pub(crate) fn clean(c: char) -> char {
    match c {
        '\0' => ' ',
        '\r' => '\n',
        c => c,
    }
}

/// How a file's bytes are read, found once at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Bytes of the byte-order mark.
    pub bom: usize,
}

impl Charset {
    /// Finds the encoding from the first bytes of a file: its mark, else UTF-8 if it is, else by letter statistics.
    pub fn detect(head: &[u8]) -> Self {
        if let Some((encoding, bom)) = Encoding::for_bom(head) {
            return Self { encoding, bom };
        }
        let encoding = if is_mostly_utf8(head) { UTF_8 } else { guess(head) };
        Self { encoding, bom: 0 }
    }

    /// Bytes of one code unit: a block of the file may only be cut at a multiple.
    pub fn unit(self) -> usize {
        if self.encoding == UTF_16LE || self.encoding == UTF_16BE { 2 } else { 1 }
    }
}

/// Decodes a whole file.
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    let charset = Charset::detect(bytes);
    let mut decoded = decode_block(&bytes[charset.bom..], charset.encoding, charset.bom as u64);
    if charset.encoding != UTF_8 {
        decoded.warnings.push(Warning::Transcoded { encoding: charset.encoding.name().to_owned() });
    }
    decoded
}

/// Decodes a block of a file that begins at `base` on disk. Blocks are cut at line ends or between characters.
pub fn decode_block<'a>(bytes: &'a [u8], encoding: &'static Encoding, base: u64) -> Decoded<'a> {
    if encoding == UTF_8
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return decode_utf8(text, base);
    }
    let mut builder = Builder::new(bytes.len());
    builder.decode(bytes, encoding, base);
    builder.finish(encoding, base + bytes.len() as u64)
}

fn decode_utf8(text: &str, base: u64) -> Decoded<'_> {
    let bytes = text.as_bytes();
    if memchr::memchr2(b'\r', 0, bytes).is_none() {
        return Decoded { text: Cow::Borrowed(text), map: OffsetMap::identity(base, bytes.len()), warnings: Vec::new() };
    }
    let mut builder = Builder::new(bytes.len());
    builder.plain(text, base, 1);
    builder.finish(UTF_8, base + bytes.len() as u64)
}

/// Assembles clean text and its map; every route of decoding ends here, so that no CR or NUL has a way around it.
struct Builder {
    text: String,
    map: OffsetMap,
    nul: u64,
    lossy: u64,
    /// A CR was the last character: a following LF belongs to it.
    after_cr: bool,
}

impl Builder {
    fn new(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity), map: OffsetMap::empty(), nul: 0, lossy: 0, after_cr: false }
    }

    fn finish<'a>(mut self, encoding: &'static Encoding, end: u64) -> Decoded<'a> {
        self.map.finish(end);
        let mut warnings = Vec::new();
        if self.lossy > 0 {
            warnings.push(Warning::Lossy { encoding: encoding.name().to_owned(), count: self.lossy });
        }
        if self.nul > 0 {
            warnings.push(Warning::NulReplaced { count: self.nul });
        }
        Decoded { text: Cow::Owned(self.text), map: self.map, warnings }
    }

    /// Appends text of which each byte takes `step` bytes on disk from `at` on.
    fn plain(&mut self, text: &str, at: u64, step: u64) {
        let mut rest = 0;
        for idx in memchr::memchr3_iter(b'\r', b'\n', 0, text.as_bytes()) {
            let byte = text.as_bytes()[idx];
            if byte == b'\n' && !(self.after_cr && idx == rest) {
                continue;
            }
            self.verbatim(&text[rest..idx], at + rest as u64 * step, step);
            self.special(byte, at + idx as u64 * step, step);
            rest = idx + 1;
        }
        self.verbatim(&text[rest..], at + rest as u64 * step, step);
    }

    fn verbatim(&mut self, text: &str, at: u64, step: u64) {
        if !text.is_empty() {
            self.map.push(self.text.len(), at, step);
            self.text.push_str(text);
            self.after_cr = false;
        }
    }

    fn special(&mut self, byte: u8, at: u64, step: u64) {
        match byte {
            // The LF of a CRLF: the line end is written already.
            b'\n' => {
                self.map.extend_to(self.text.len() - 1, at, step);
                self.after_cr = false;
            }
            b'\r' => {
                self.map.push(self.text.len(), at, step);
                self.text.push('\n');
                self.after_cr = true;
            }
            _ => {
                self.map.push(self.text.len(), at, step);
                self.text.push(' ');
                self.nul += 1;
                self.after_cr = false;
            }
        }
    }

    /// Runs of ASCII at once, everything else unit by unit, so that each character's bytes are known.
    fn decode(&mut self, bytes: &[u8], encoding: &'static Encoding, base: u64) {
        let mut decoder = encoding.new_decoder_without_bom_handling();
        let runs = encoding.is_ascii_compatible();
        let mut out = [0_u8; 64];
        let (mut at, mut begun) = (0, 0);
        while at < bytes.len() {
            if runs && begun == at {
                let ascii = Encoding::ascii_valid_up_to(&bytes[at..]);
                if ascii > 0 {
                    let text = std::str::from_utf8(&bytes[at..at + ascii]).expect("ASCII is UTF-8");
                    self.plain(text, base + at as u64, 1);
                    at += ascii;
                    begun = at;
                    continue;
                }
            }
            let last = at + 1 == bytes.len();
            let (result, _, written, bad) = decoder.decode_to_utf8(&bytes[at..=at], &mut out, last);
            debug_assert_eq!(result, CoderResult::InputEmpty, "64 bytes hold what one byte yields");
            at += 1;
            self.lossy += u64::from(bad);
            if written > 0 {
                let text = std::str::from_utf8(&out[..written]).expect("the decoder writes UTF-8");
                self.character(text, base + begun as u64, (at - begun) as u64);
                begun = at;
            }
        }
    }

    /// Text that came out of `length` bytes at `at`, as one.
    fn character(&mut self, text: &str, at: u64, length: u64) {
        let step = length.div_ceil(text.len() as u64);
        self.plain(text, at, step);
    }
}

/// Valid, or broken in so few places that its many multi-byte characters prove the intent.
fn is_mostly_utf8(head: &[u8]) -> bool {
    let is_cut = head.len() >= DETECT_BYTES;
    let head = &head[..head.len().min(DETECT_BYTES)];
    let Err(error) = std::str::from_utf8(head) else { return true };
    if is_cut && error.error_len().is_none() {
        return true;
    }
    let (mut valid, mut invalid) = (0, 0);
    for chunk in head.utf8_chunks() {
        valid += chunk.valid().bytes().filter(|b| *b >= 0xC0).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid >= invalid * UTF8_VALID_PER_INVALID
}

fn guess(head: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&head[..head.len().min(DETECT_BYTES)], false);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn on_disk(decoded: &Decoded<'_>, start: usize, end: usize) -> std::ops::Range<usize> {
        decoded.map.start(start) as usize..decoded.map.end(end) as usize
    }

    #[test]
    fn plain_text_is_borrowed_and_mapped_by_identity() {
        let decoded = decode("# Größe\n".as_bytes());
        assert!(matches!(decoded.text, Cow::Borrowed(_)) && decoded.map.is_identity() && decoded.warnings.is_empty());
    }

    #[test]
    fn a_mail_export_in_a_legacy_code_page_is_read() {
        let bytes = b"F\xe9sum\xe9 \xa7 97 \x96 dash";
        let decoded = decode(bytes);
        assert_eq!(decoded.text, "Fésumé § 97 – dash");
        let at = decoded.text.find("97").expect("present");
        assert_eq!(&bytes[on_disk(&decoded, at, at + 2)], b"97");
        assert_eq!(decoded.warnings, [Warning::Transcoded { encoding: "windows-1252".into() }]);
    }

    #[test]
    fn garbage_is_read_lossily_with_a_warning() {
        let decoded = decode(b"\x81\xfe\0abc");
        assert!(decoded.text.ends_with("abc") && !decoded.text.contains('\0'));
        assert!(decoded.warnings.len() >= 2, "{:?}", decoded.warnings);
    }

    #[test]
    fn byte_order_mark_and_carriage_returns_vanish_and_offsets_stay() {
        let bytes = b"\xef\xbb\xbf---\r\ntitle: Plan\r\n---\r\n# First\r\nbody\r\n";
        let decoded = decode(bytes);
        assert_eq!(decoded.text, "---\ntitle: Plan\n---\n# First\nbody\n");
        let at = decoded.text.find("body").expect("present");
        assert_eq!(&bytes[on_disk(&decoded, at, at + 4)], b"body");
        assert_eq!(on_disk(&decoded, 0, decoded.text.len()), 3..bytes.len());
    }

    #[test]
    fn a_nul_becomes_a_space_in_place() {
        let decoded = decode(b"Good text\0with nul\n");
        assert_eq!(decoded.text, "Good text with nul\n");
        assert_eq!(on_disk(&decoded, 10, 14), 10..14);
        assert_eq!(decoded.warnings, [Warning::NulReplaced { count: 1 }]);
    }

    #[test]
    fn a_few_broken_bytes_do_not_make_utf8_something_else() {
        let mut bytes = "Grüße aus Köln, schöne Tage, äußerst müde".as_bytes().to_vec();
        bytes.extend(b" \xff end");
        let decoded = decode(&bytes);
        assert!(decoded.text.starts_with("Grüße") && decoded.text.ends_with("\u{fffd} end"));
        assert!(matches!(decoded.warnings.as_slice(), [Warning::Lossy { count: 1, .. }]));
    }

    fn utf16(text: &str, little: bool) -> Vec<u8> {
        let mut bytes = if little { vec![0xff, 0xfe] } else { vec![0xfe, 0xff] };
        bytes.extend(text.encode_utf16().flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() }));
        bytes
    }

    proptest! {
        /// Whatever the encoding, the bytes of a range decode to the text of that range.
        #[test]
        fn ranges_point_into_the_file(words in proptest::collection::vec("[a-zé語😀 ]{0,6}", 1..12), crlf: bool, route in 0..3) {
            let end = if crlf { "\r\n" } else { "\n" };
            let text = words.join(end);
            let bytes = match route { 0 => utf16(&text, true), 1 => utf16(&text, false), _ => text.clone().into_bytes() };
            let decoded = decode(&bytes);
            prop_assert_eq!(decoded.text.as_ref(), words.join("\n"));
            let unit = |slice: &[u8]| match route {
                0 => UTF_16LE.decode_without_bom_handling(slice).0.into_owned(),
                1 => UTF_16BE.decode_without_bom_handling(slice).0.into_owned(),
                _ => String::from_utf8_lossy(slice).into_owned(),
            };
            let cuts: Vec<usize> = (0..=decoded.text.len()).filter(|i| decoded.text.is_char_boundary(*i)).collect();
            for pair in cuts.windows(3) {
                let got = unit(&bytes[on_disk(&decoded, pair[0], pair[2])]).replace("\r\n", "\n");
                prop_assert_eq!(got.as_str(), &decoded.text[pair[0]..pair[2]]);
            }
        }
    }
}
