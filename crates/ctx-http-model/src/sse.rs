//! Server-sent events, cut anywhere: inside a line, inside a character.

/// Longest event that is buffered; a longer one is an error, not memory.
const EVENT_BYTES_MAX: usize = 4 << 20;

/// Collects bytes and gives whole `data:` payloads.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    buffer: Vec<u8>,
    data: Vec<u8>,
}

/// The stream holds an event beyond the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Decoder {
    /// Payloads completed by these bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        self.buffer.extend_from_slice(bytes);
        let mut out = Vec::new();
        let mut start = 0;
        while let Some(length) = self.buffer[start..].iter().position(|b| *b == b'\n') {
            let line = self.buffer[start..start + length].to_vec();
            start += length + 1;
            self.line(line.strip_suffix(b"\r").unwrap_or(&line), &mut out);
        }
        self.buffer.drain(..start);
        if self.buffer.len() + self.data.len() > EVENT_BYTES_MAX { Err(TooLong) } else { Ok(out) }
    }

    /// What is left at the end of the stream: an event whose blank line was never sent.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let mut out = Vec::new();
        let rest = std::mem::take(&mut self.buffer);
        self.line(&rest, &mut out);
        self.line(b"", &mut out);
        out
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<String>) {
        if line.is_empty() {
            if !self.data.is_empty() {
                out.push(String::from_utf8_lossy(&std::mem::take(&mut self.data)).into_owned());
            }
        } else if let Some(value) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_gives_the_same_events() {
        let stream = "data: {\"a\":\"é👩‍👩‍👧\"}\r\n\r\n: comment\n\ndata: x\ndata: y\n\ndata: [DONE]\n\n".as_bytes();
        let whole = Decoder::default().feed(stream).expect("short");
        assert_eq!(whole, ["{\"a\":\"é👩‍👩‍👧\"}", "x\ny", "[DONE]"]);
        for cut in 0..stream.len() {
            let mut decoder = Decoder::default();
            let mut events = decoder.feed(&stream[..cut]).expect("short");
            events.extend(decoder.feed(&stream[cut..]).expect("short"));
            assert_eq!(events, whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_missing_last_blank_line_loses_nothing_and_an_endless_line_is_refused() {
        let mut decoder = Decoder::default();
        assert!(decoder.feed(b"data: last").expect("short").is_empty());
        assert_eq!(decoder.finish(), ["last"]);
        assert_eq!(Decoder::default().feed(&vec![b'x'; EVENT_BYTES_MAX + 1]), Err(TooLong));
    }
}
