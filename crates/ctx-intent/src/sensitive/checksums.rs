//! Check digits of cards, accounts and national identifiers. Pure arithmetic over digits; no text, no context.

/// Luhn (ISO/IEC 7812): payment cards.
pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let value = u32::from(*digit) * if at % 2 == 1 { 2 } else { 1 };
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    !digits.is_empty() && sum.is_multiple_of(10)
}

/// Issuer ranges and lengths of payment cards in use: without them one long number in ten would pass Luhn.
pub(super) fn card(digits: &[u8]) -> bool {
    let lead = |length: usize| digits.iter().take(length).fold(0u32, |value, digit| value * 10 + u32::from(*digit));
    let length = digits.len();
    let issued = match (lead(1), lead(2), lead(3), lead(4)) {
        (4, ..) => matches!(length, 13 | 16 | 19),
        (_, 51..=55, ..) | (_, _, _, 2221..=2720) => length == 16,
        (_, 34 | 37, ..) => length == 15,
        (_, 36 | 38 | 39, ..) | (_, _, 300..=305, _) => (14..=19).contains(&length),
        (_, _, _, 3500..=3589) => (16..=19).contains(&length),
        (_, _, _, 1800 | 2131) => length == 15,
        (_, 65, ..) | (_, _, 644..=649, _) | (_, _, _, 6011) | (_, 62, ..) => (16..=19).contains(&length),
        (_, 50 | 56..=58 | 63 | 67, ..) => (12..=19).contains(&length),
        _ => false,
    };
    issued && luhn(digits)
}

/// ISO 13616: country, check digits, account, modulo 97. `text` holds letters and digits only.
pub(super) fn iban(text: &[u8]) -> bool {
    if !(15..=34).contains(&text.len()) || !text[..2].iter().all(u8::is_ascii_uppercase) {
        return false;
    }
    let rest = text[4..].iter().chain(&text[..4]);
    let remainder = rest.fold(0u32, |value, byte| match byte {
        b'0'..=b'9' => (value * 10 + u32::from(byte - b'0')) % 97,
        _ => (value * 100 + u32::from(byte.to_ascii_uppercase() - b'A') + 10) % 97,
    });
    text[2..4].iter().all(u8::is_ascii_digit) && remainder == 1
}

fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum()
}

/// Brazil, CPF: eleven digits.
pub(super) fn cpf(digits: &[u8]) -> bool {
    let check = |count: usize| {
        let weights: Vec<u32> = (2..=count as u32 + 1).rev().collect();
        (weighted(&digits[..count], &weights) * 10 % 11 % 10) as u8
    };
    digits.len() == 11 && digits.iter().any(|digit| *digit != digits[0]) && check(9) == digits[9] && check(10) == digits[10]
}

/// Russia, SNILS: eleven digits.
pub(super) fn snils(digits: &[u8]) -> bool {
    digits.len() == 11 && {
        let sum = weighted(&digits[..9], &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101 % 100;
        sum == u32::from(digits[9]) * 10 + u32::from(digits[10])
    }
}

/// France, NIR: thirteen digits and a key of two.
pub(super) fn nir(digits: &[u8]) -> bool {
    digits.len() == 15 && matches!(digits[0], 1 | 2) && {
        let number = digits[..13].iter().fold(0u64, |value, digit| value * 10 + u64::from(*digit));
        97 - number % 97 == u64::from(digits[13]) * 10 + u64::from(digits[14])
    }
}

/// China, resident identity: seventeen digits with a date, and a check character (`X` is ten).
pub(super) fn resident_identity(digits: &[u8]) -> bool {
    digits.len() == 18 && date(&digits[6..14]) && {
        let sum = weighted(&digits[..17], &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
        (12 - sum % 11) % 11 == u32::from(digits[17])
    }
}

/// Korea, resident registration: six digits of a date, seven more, the last a check digit.
pub(super) fn resident_registration(digits: &[u8]) -> bool {
    digits.len() == 13 && month_day(&digits[2..6]) && {
        let sum = weighted(&digits[..12], &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
        (11 - sum % 11) % 10 == u32::from(digits[12])
    }
}

/// India, Aadhaar: twelve digits, Verhoeff.
pub(super) fn aadhaar(digits: &[u8]) -> bool {
    digits.len() == 12 && digits[0] >= 2 && verhoeff(digits)
}

fn verhoeff(digits: &[u8]) -> bool {
    const PERMUTATION: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u8, times: usize| (0..times % 8).fold(digit, |value, _| PERMUTATION[usize::from(value)]);
    digits.iter().rev().enumerate().fold(0, |check, (at, digit)| dihedral(check, permuted(*digit, at))) == 0
}

/// Multiplication in the dihedral group of order ten.
fn dihedral(a: u8, b: u8) -> u8 {
    match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b - 5) % 5 + 5,
        (false, true) => (a - 5 + 5 - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    }
}

/// Spain, DNI: eight digits name a letter.
pub(super) fn dni(number: u32, letter: u8) -> bool {
    b"TRWAGMYFPDXBNJZSQVHLCKE"[number as usize % 23] == letter.to_ascii_uppercase()
}

/// United Kingdom, NHS number: ten digits, the last a remainder of eleven.
pub(super) fn nhs(digits: &[u8]) -> bool {
    digits.len() == 10 && {
        let check = 11 - weighted(&digits[..9], &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
        check % 11 == u32::from(digits[9])
    }
}

/// Singapore, NRIC: a letter of the series, seven digits, a check letter.
pub(super) fn nric(text: &[u8]) -> bool {
    let digits: Vec<u8> = text.get(1..8).unwrap_or_default().iter().map(|byte| byte.wrapping_sub(b'0')).collect();
    if text.len() != 9 || digits.iter().any(|digit| *digit > 9) {
        return false;
    }
    let sum = weighted(&digits, &[2, 7, 6, 5, 4, 3, 2]);
    let (offset, letters) = match text[0] {
        b'S' => (0, b"JZIHGFEDCBA"),
        b'T' => (4, b"JZIHGFEDCBA"),
        b'F' => (0, b"XWUTRQPNMLK"),
        b'G' => (4, b"XWUTRQPNMLK"),
        _ => return false,
    };
    letters[((sum + offset) % 11) as usize] == text[8]
}

/// Italy, codice fiscale: sixteen characters, the last a check letter.
pub(super) fn codice_fiscale(text: &[u8]) -> bool {
    const ODD: [u32; 26] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let shaped = text.len() == 16
        && text.iter().enumerate().all(|(at, byte)| match at {
            6 | 7 | 9 | 10 | 12..=14 => byte.is_ascii_digit(),
            _ => byte.is_ascii_uppercase(),
        });
    shaped && {
        let value = |byte: u8| usize::from(if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' });
        let sum: u32 =
            text[..15].iter().enumerate().map(|(at, byte)| if at % 2 == 0 { ODD[value(*byte)] } else { value(*byte) as u32 }).sum();
        u32::from(text[15] - b'A') == sum % 26
    }
}

/// Year, month, day in eight digits.
pub(super) fn date(digits: &[u8]) -> bool {
    digits.len() == 8 && matches!(digits[..2], [1, 8..=9] | [2, 0]) && month_day(&digits[4..])
}

pub(super) fn month_day(digits: &[u8]) -> bool {
    let pair = |at: usize| digits[at] * 10 + digits[at + 1];
    digits.len() == 4 && (1..=12).contains(&pair(0)) && (1..=31).contains(&pair(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Vec<u8> {
        text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect()
    }

    #[test]
    fn published_examples_pass_and_one_changed_digit_fails() {
        type Check = fn(&[u8]) -> bool;
        let cases: [(Check, &str, &str); 9] = [
            (card, "4111 1111 1111 1111", "4111 1111 1111 1112"),
            (card, "3782 822463 10005", "3782 822463 10006"),
            (cpf, "529.982.247-25", "529.982.247-26"),
            (snils, "112-233-445 95", "112-233-445 96"),
            (nir, "2 55 08 14 168 025 38", "2 55 08 14 168 025 39"),
            (resident_identity, "110101199003070134", "110101199003070135"),
            (aadhaar, "2341 2341 2346", "2341 2341 2347"),
            (luhn, "79927398713", "79927398710"),
            (nhs, "943 476 5919", "943 476 5918"),
        ];
        for (check, right, wrong) in cases {
            assert!(check(&digits(right)), "{right}");
            assert!(!check(&digits(wrong)), "{wrong}");
        }
        assert!(iban(b"DE89370400440532013000") && !iban(b"DE88370400440532013000"));
        assert!(codice_fiscale(b"RSSMRA85T10A562S") && !codice_fiscale(b"RSSMRA85T10A562T"));
        assert!(nric(b"S1234567D") && !nric(b"S1234567E") && !nric(b"S12345678"));
        assert!(dni(12_345_678, b'Z') && !dni(12_345_678, b'A'));
    }
}
