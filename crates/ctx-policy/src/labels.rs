//! Which label a found value raises to. The built-in table holds for the built-in detectors and can only be raised; what
//! only Presidio finds is set here, and what neither table nor configuration knows counts as restricted.

use ctx_types::Sensitivity;
use ctx_types::intent::SensitiveSpan;
use std::collections::BTreeMap;

/// Labels from the configuration, by detector name (`email`, `person`, …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, Sensitivity>);

/// Presidio's entity types that have a name here. Names of people, places and times raise nothing by default: nearly
/// every question holds one.
const KNOWN: &[(&str, &str, Sensitivity)] = &[
    ("CREDIT_CARD", "card", Sensitivity::Restricted),
    ("CRYPTO", "crypto", Sensitivity::Restricted),
    ("IBAN_CODE", "iban", Sensitivity::Restricted),
    ("US_BANK_NUMBER", "account", Sensitivity::Restricted),
    ("EMAIL_ADDRESS", "email", Sensitivity::Confidential),
    ("PHONE_NUMBER", "phone", Sensitivity::Confidential),
    ("IP_ADDRESS", "ip", Sensitivity::Internal),
    ("MAC_ADDRESS", "mac", Sensitivity::Internal),
    ("URL", "url", Sensitivity::Internal),
    ("DOMAIN_NAME", "url", Sensitivity::Internal),
    ("PERSON", "person", Sensitivity::Internal),
    ("LOCATION", "location", Sensitivity::Internal),
    ("GPE", "location", Sensitivity::Internal),
    ("STREET_ADDRESS", "location", Sensitivity::Internal),
    ("ORGANIZATION", "organization", Sensitivity::Internal),
    ("NRP", "nrp", Sensitivity::Internal),
    ("DATE_TIME", "date", Sensitivity::Internal),
    ("AGE", "age", Sensitivity::Internal),
    ("TITLE", "title", Sensitivity::Internal),
    ("ZIP_CODE", "zip", Sensitivity::Internal),
];

/// Endings of Presidio's types for numbers that a state gives a person.
const NATIONAL: [&str; 14] = [
    "_SSN",
    "_ITIN",
    "_NHS",
    "_NINO",
    "_PASSPORT",
    "_LICENSE",
    "_NRIC_FIN",
    "_TFN",
    "_MEDICARE",
    "_AADHAAR",
    "_PAN",
    "_PESEL",
    "_NIF",
    "_NIE",
];

impl Labels {
    /// Name and label of one of Presidio's entity types.
    pub fn of_entity(&self, entity: &str) -> (String, Sensitivity) {
        let known = KNOWN.iter().find(|(name, _, _)| *name == entity).map(|(_, name, label)| ((*name).to_owned(), *label));
        let national =
            || NATIONAL.iter().any(|ending| entity.ends_with(ending)).then(|| ("national_id".to_owned(), Sensitivity::Restricted));
        let (name, label) = known.or_else(national).unwrap_or_else(|| (entity.to_lowercase(), Sensitivity::Restricted));
        let label = self.0.get(&name).copied().unwrap_or(label);
        (name, label)
    }

    /// A span of the built-in detectors under the configured label, which can only be tighter.
    pub(crate) fn raised(&self, mut span: SensitiveSpan) -> SensitiveSpan {
        if let Some(label) = self.0.get(&span.detector) {
            span.raises_to = span.raises_to.max(*label);
        }
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_types_count_as_restricted_and_names_raise_nothing_unless_configured() {
        let plain = Labels::default();
        assert_eq!(plain.of_entity("PERSON"), ("person".to_owned(), Sensitivity::Internal));
        assert_eq!(plain.of_entity("US_DRIVER_LICENSE"), ("national_id".to_owned(), Sensitivity::Restricted));
        assert_eq!(plain.of_entity("EMPLOYEE_BADGE"), ("employee_badge".to_owned(), Sensitivity::Restricted));
        let strict = Labels(BTreeMap::from([("person".to_owned(), Sensitivity::Confidential)]));
        assert_eq!(strict.of_entity("PERSON").1, Sensitivity::Confidential);
        let card = SensitiveSpan { detector: "card".into(), raises_to: Sensitivity::Restricted, start: 0, end: 1 };
        let loose = Labels(BTreeMap::from([("card".to_owned(), Sensitivity::Public)]));
        assert_eq!(loose.raised(card).raises_to, Sensitivity::Restricted);
    }
}
