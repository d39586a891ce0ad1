//! Rule files: what they decide, what they refuse to be, and where they say that they are wrong.

use ctx_contracts::{Decision, ModelFacts, Policy, PolicyFacts, PolicyQuestion, SourceFacts};
use ctx_policy::{BuiltinRules, HousePolicy, RegoRules};
use ctx_types::{ModelName, NanoUsd, Principal, Sensitivity, SourceKind, SourceName, Tokens};
use std::collections::{BTreeMap, BTreeSet};

/// The example that ships with the program.
const HOUSE: &str = include_str!("../../../examples/policies/house.rego");

fn question(source: Option<&str>, model: Option<(&str, bool)>) -> PolicyQuestion {
    PolicyQuestion {
        principal: Principal { tenant: "acme".into(), roles: BTreeSet::from(["analyst".to_owned()]) },
        source: source.map(|name| SourceName::new(name).expect("a name")),
        model: model.map(|(name, _)| ModelName::new(name).expect("a name")),
        sensitivity: Sensitivity::Internal,
        facts: PolicyFacts {
            source: source.map(|_| SourceFacts { kind: SourceKind::Files, passages: 10, tokens: Tokens(3_000) }),
            model: model.map(|(_, local)| ModelFacts {
                model: "m-1".into(),
                provider: "openai_compatible".into(),
                local,
                accepts: Sensitivity::Internal,
            }),
            input_tokens: Some(Tokens(8_000)),
            output_tokens: Some(Tokens(500)),
            cost: Some(NanoUsd(20_000_000)),
        },
    }
}

fn rule_of(decision: &Decision) -> Option<(&str, &str)> {
    match decision {
        Decision::Allow => None,
        Decision::Deny { rule, reason } => Some((rule, reason)),
    }
}

#[test]
fn the_example_decides_on_principal_source_model_label_and_estimate() {
    let rules = RegoRules::parse("house.rego", HOUSE).expect("the example is Rego");
    let decide = |question: &PolicyQuestion| rules.decide(question).expect("evaluates");
    assert_eq!(decide(&question(Some("docs"), None)), Decision::Allow);
    assert_eq!(decide(&question(Some("docs"), Some(("local", true)))), Decision::Allow);
    assert_eq!(decide(&question(None, Some(("hosted", false)))), Decision::Allow);

    let payroll = decide(&question(Some("payroll"), None));
    assert_eq!(rule_of(&payroll), Some(("payroll_is_for_hr", "payroll may be read by role hr only")));
    let mut hr = question(Some("payroll"), None);
    hr.principal.roles.insert("hr".to_owned());
    assert_eq!(decide(&hr), Decision::Allow);

    let mut secret = question(Some("docs"), Some(("hosted", false)));
    secret.sensitivity = Sensitivity::Restricted;
    assert_eq!(rule_of(&decide(&secret)).map(|(rule, _)| rule.to_owned()), Some("restricted_stays_here".to_owned()));

    let mut dear = question(None, Some(("hosted", false)));
    dear.facts.cost = Some(NanoUsd(3_000_000_000));
    let told = decide(&dear);
    assert_eq!(rule_of(&told), Some(("dear_calls", "one call of hosted may cost $3.00, more than $1.00")));
}

#[test]
fn undefined_and_false_refuse_where_allow_is_defined() {
    let rules = RegoRules::parse("a.rego", "package house\n\nallow if input.model.local\n").expect("Rego");
    assert_eq!(rules.decide(&question(None, Some(("local", true)))).expect("evaluates"), Decision::Allow);
    let refused = rules.decide(&question(None, Some(("hosted", false)))).expect("evaluates");
    assert_eq!(rule_of(&refused).map(|(rule, _)| rule), Some("allow"));
    let unknown = rules.decide(&question(Some("docs"), None)).expect("evaluates");
    assert_eq!(rule_of(&unknown), Some(("allow", "allow is undefined for this question")));
    let complete = RegoRules::parse("b.rego", "package house\n\ndeny if input.action == \"send\"\n").expect("Rego");
    assert!(rule_of(&complete.decide(&question(Some("docs"), None)).expect("evaluates")).is_some_and(|(_, why)| why.contains("undefined")));
}

#[test]
fn an_error_while_deciding_is_an_error_with_its_place() {
    let text = "package house\n\ndeny contains msg if {\n\tmsg := sprintf(\"%s\", [input.source.name / 2])\n}\n";
    let rules = RegoRules::parse("broken.rego", text).expect("it parses");
    let error = rules.decide(&question(Some("docs"), None)).expect_err("a text has no half").to_string();
    assert!(error.contains("broken.rego:4:"), "{error}");
}

#[test]
fn a_file_that_is_not_rego_or_decides_nothing_says_where_and_what() {
    let error =
        RegoRules::parse("x.rego", "package house\n\ndeny contains \"a\" if {\n\tinput.x ==\n}\n").expect_err("not Rego").to_string();
    assert!(error.contains("x.rego:5:") || error.contains("x.rego:4:"), "{error}");
    let error = RegoRules::parse("y.rego", "package house\n\nrefuse := 1\n").expect_err("no rule decides").to_string();
    assert!(error.contains("y.rego") && error.contains("house") && error.contains("deny contains"), "{error}");
    let error = RegoRules::load("no/such/file.rego".as_ref()).expect_err("missing").to_string();
    assert!(error.contains("no/such/file.rego") && error.contains("policy.file"), "{error}");
}

#[tokio::test]
async fn rules_open_nothing_that_the_built_in_ones_close_and_every_part_is_in_the_version() {
    let source = SourceName::new("docs").expect("a name");
    let builtin = BuiltinRules { readers: BTreeMap::from([(source, BTreeSet::from(["ops".to_owned()]))]), ..BuiltinRules::default() };
    let allow = RegoRules::parse("a.rego", "package house\n\nallow := true\n").expect("Rego");
    let other = RegoRules::parse("a.rego", "package house\n\nallow := true # now\n").expect("Rego");
    let policy = HousePolicy::new(builtin.clone()).with_rego(allow.clone());
    let decision = policy.decide(&question(Some("docs"), None)).await.expect("decides");
    assert_eq!(rule_of(&decision).map(|(rule, _)| rule), Some("readable_by"));
    let versions = [
        HousePolicy::new(builtin.clone()).version(),
        HousePolicy::new(BuiltinRules::default()).version(),
        policy.version(),
        HousePolicy::new(builtin).with_rego(other).version(),
    ];
    for (at, version) in versions.iter().enumerate() {
        assert!(!versions[at + 1..].contains(version), "{versions:?}");
    }
}

#[test]
fn what_a_rule_says_is_text_of_bounded_length() {
    let rules = RegoRules::parse("l.rego", "package house\n\ndeny contains concat(\"\\n\", [\"a\", \"b\", \"c\"])\n").expect("Rego");
    assert_eq!(rule_of(&rules.decide(&question(None, Some(("m", true)))).expect("evaluates")), Some(("deny", "a b c")));
}

/// The parser calls itself for every bracket: what is nested without end is refused before it is parsed.
#[test]
fn brackets_nested_without_end_are_refused_with_their_line() {
    for (open, close) in [("[", "]"), ("{", "}"), ("(", ")"), ("{\"a\":", "}")] {
        let text = format!("package ctxrt\n\nallow if x := {}1{}\n", open.repeat(20_000), close.repeat(20_000));
        let error = RegoRules::parse("deep.rego", &text).expect_err("too deep").to_string();
        assert!(error.contains("deep.rego:3") && error.contains("nested deeper than"), "{error}");
    }
    let quoted = format!("package ctxrt\n\n# {}\nallow if input.goal != \"{}\"\n", "[".repeat(500), "{".repeat(500));
    RegoRules::parse("text.rego", &quoted).expect("brackets in a comment and in a string are no brackets");
}
