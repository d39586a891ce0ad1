//! Goals and what must be read out of them. None of these is among the training goals.

use ctx_intent::{IntentModel, analyze};
use ctx_types::intent::{AnswerShape, Bucket, EvidenceShape, Intent};
use ctx_types::{Ppm, Sensitivity, SourceKind};

fn read(goal: &str) -> Intent {
    analyze(goal, IntentModel::embedded())
}

#[test]
fn answer_shapes() {
    use AnswerShape::*;
    let cases = [
        ("How many functions are defined in helpers.rs?", Aggregate),
        ("What is the average price per category?", Aggregate),
        ("How does the optimizer prove that a plan is optimal?", Explanation),
        ("Why was the request rejected?", Explanation),
        ("What is SKU-73105?", Lookup),
        ("Where is the retry limit configured?", Lookup),
        ("Compare hybrid search and BM25", Comparison),
        ("What is the difference between explain and simulate?", Comparison),
        ("List all supported file formats", List),
        ("Is the index encrypted?", YesNo),
        ("Does the tool follow symlinks?", YesNo),
        ("Delete the backup", Action),
        ("Please drop table orders", Action),
        ("Lösche die alte Tabelle", Action),
        ("Удали все временные файлы", Action),
        ("请删除旧的备份", Action),
        ("how do I drop a table?", Explanation),
        ("Wie viele Bestellungen gab es im Mai?", Aggregate),
        ("¿Cuántos pedidos hay en mayo?", Aggregate),
        ("Почему упал сервер?", Explanation),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(goal, expected)| read(goal).answer_shape() != *expected)
        .map(|(goal, expected)| format!("{goal}: expected {expected}, got {:?}", read(goal).answer.0))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn evidence_and_sources() {
    let evidence = [
        ("How many functions are defined in helpers.rs?", EvidenceShape::WholeCorpus),
        ("Summarize the whole handbook", EvidenceShape::WholeCorpus),
        ("Which errors were logged in the last 6 hours?", EvidenceShape::LogWindow),
        ("total revenue per region in 2023", EvidenceShape::Table),
        ("What is the refund period?", EvidenceShape::OnePassage),
        ("Where was the director of the movie Alien born?", EvidenceShape::MultiHop),
    ];
    for (goal, expected) in evidence {
        assert_eq!(read(goal).evidence_shape(), expected, "{goal}: {:?}", read(goal).evidence.0);
    }
    let sources = [
        ("How does the planner decide that a plan is infeasible?", SourceKind::Files),
        ("blk_-7029628814943626474", SourceKind::Logs),
        ("Which customers spent the most last year? Return name and total amount.", SourceKind::Tables),
        ("who directed the movies written by the writer of Heat", SourceKind::Graph),
        ("Which commit introduced the crash in the parser?", SourceKind::Git),
        ("What did the marketing team say about the remote control?", SourceKind::Conversation),
    ];
    for (goal, expected) in sources {
        assert_eq!(read(goal).sources.top().map(|(kind, _)| kind), Some(expected), "{goal}: {:?}", read(goal).sources.0);
    }
}

#[test]
fn risk_needs_an_order() {
    for goal in [
        "Delete the old index",
        "wipe the production database",
        "Transfer 900 euros to Jane",
        "Supprime tous les utilisateurs",
        "古い索引を削除して",
    ] {
        let intent = read(goal);
        assert!(intent.risk >= Ppm(500_000) && intent.bucket == Bucket::HighRisk, "{goal}: {} {:?}", intent.risk.0, intent.bucket);
    }
    for goal in [
        "How do I delete the old index?",
        "Why was the index deleted?",
        "Does compaction delete segments?",
        "What does `rm -rf` do?",
        "Wie lösche ich den Index?",
        "如何删除索引",
        "Restart the service",
        "What is the delete key for?",
    ] {
        let intent = read(goal);
        assert!(intent.risk < Ppm(500_000) && intent.bucket != Bucket::HighRisk, "{goal}: {} {:?}", intent.risk.0, intent.bucket);
    }
}

#[test]
fn a_value_raises_the_label_and_a_word_does_not() {
    let cases = [
        ("error 500: password reset link leaks the api_key", Sensitivity::Internal),
        ("password reset docs?", Sensitivity::Internal),
        ("who rotates the secrets and the SSN column?", Sensitivity::Internal),
        ("which host is 10.251.43.21", Sensitivity::Internal),
        ("why does jane.doe@example.org get bounces", Sensitivity::Confidential),
        ("summarise the record of SSN 078-05-1120", Sensitivity::Restricted),
        ("refund 4111 1111 1111 1111", Sensitivity::Restricted),
        ("log in with password=hunter2", Sensitivity::Restricted),
    ];
    for (goal, expected) in cases {
        assert_eq!(read(goal).sensitivity, expected, "{goal}");
    }
    let leak = read("error 500: password reset link leaks the api_key");
    assert_eq!((leak.bucket, leak.answer_shape()), (Bucket::Incident, AnswerShape::Lookup), "{:?}", leak.answer.0);
    assert_eq!(leak.sensitive_topics, ["password", "api_key"]);
}

#[test]
fn no_part_of_a_sensitive_value_is_an_entity() {
    for goal in [
        "Who owns card 4111 1111 1111 1111?",
        "refund iban DE89 3704 0044 0532 0130 00 from 2024-05-12",
        "log in with password=\"hunter2.prod\" on db-01.example.org",
        "Patient A. Example, SSN 078-05-1120",
        "bounces of jane.doe@mail.example.org",
        "key AKIAIOSFODNN7EXAMPLE and eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk",
    ] {
        let intent = read(goal);
        assert!(!intent.sensitive_spans.is_empty(), "{goal}");
        for (entity, span) in intent.entities.iter().flat_map(|entity| intent.sensitive_spans.iter().map(move |span| (entity, span))) {
            assert!(entity.end <= span.start || span.end <= entity.start, "{goal}: {entity:?}");
        }
    }
    let kept: Vec<String> =
        read("which host is 10.251.43.21, and why does db-01 refuse jane@example.org?").entities.into_iter().map(|e| e.text).collect();
    assert_eq!(kept, ["10.251.43.21", "db-01"]);
}

#[test]
fn buckets_times_and_languages() {
    for (goal, expected) in [
        ("SKU 73105 material", Bucket::ExactLookup),
        ("E0502", Bucket::ExactLookup),
        ("Why does the checkout fail with a timeout?", Bucket::Incident),
        ("Compare the two contracts", Bucket::Synthesis),
    ] {
        assert_eq!(read(goal).bucket, expected, "{goal}");
    }
    let scope = read("errors in the last 24 hours").time.expect("a window is named");
    assert_eq!((scope.text.as_str(), scope.relative), ("last 24 hours", true));
    assert!(read("plans without citations").negated && !read("plans with citations").negated);
    assert_eq!(read("Is Rust faster than Go?").operands, ["Rust", "Go"]);
    for (goal, language) in [("Wo steht der Preis?", "de"), ("где цена", "ru"), ("価格はどこ", "ja"), ("E0502", "und")] {
        assert_eq!(read(goal).language, language);
    }
}

#[test]
fn empty_and_huge_goals_are_survived() {
    let empty = read("");
    assert_eq!(empty.entities, []);
    let pasted = format!("{}\nWhy did this fail?", "2024-05-12 10:00:00 ERROR \"a.b_c: 4111\n".repeat(3_000));
    let huge = read(&pasted);
    assert!(huge.entities.len() <= 256);
}

proptest::proptest! {
    #[test]
    fn any_goal_has_whole_distributions_and_one_reading(goal in "\\PC{0,200}|[a-zA-Zäé0-9 .,?'\"@=:/_-]{0,200}|(delete|how|比较|和|vs|than|between|last|'|\"| ){0,30}") {
        let intent = read(&goal);
        let sum = |parts: Vec<Ppm>| parts.iter().map(|part| part.0).sum::<u32>();
        proptest::prop_assert_eq!(sum(intent.answer.0.iter().map(|entry| entry.1).collect()), 1_000_000);
        proptest::prop_assert_eq!(sum(intent.evidence.0.iter().map(|entry| entry.1).collect()), 1_000_000);
        proptest::prop_assert_eq!(sum(intent.sources.0.iter().map(|entry| entry.1).collect()), 1_000_000);
        proptest::prop_assert_eq!(intent.sources.0.len(), SourceKind::ALL.len());
        for entity in &intent.entities {
            proptest::prop_assert_eq!(goal.get(entity.start as usize..entity.end as usize), Some(entity.text.as_str()));
        }
        proptest::prop_assert_eq!(intent, read(&goal));
    }
}
