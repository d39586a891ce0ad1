//! What is printed parses to the same statement, and printing it again gives the same text.

use ctx_sql::source::{LabelRule, Property, RefreshRule};
use ctx_sql::statement::Of;
use ctx_sql::{
    Ask, CreateSource, Explain, ExplainOption, Format, Limit, Located, Output, Setting, SettingKey, Show, Statement, Subject, Term, Wish,
    parse, parse_script,
};
use ctx_types::goal::{Hint, UncertainLatency};
use ctx_types::{ContentId, Micros, ModelName, NanoUsd, Objective, Ppm, Sensitivity, SourceKind, SourceName, Tokens};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Goals, paths and ids: anything, quotes and line ends and hostile characters too, but not blank.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z '\"$\\\\;/*-]{1,20}".prop_filter("not blank", |s| !s.trim().is_empty()),
        any::<String>().prop_filter("not blank", |s| !s.trim().is_empty()),
        Just("it's $$ -- /* ; \u{202e}\r\n'".to_owned()),
    ]
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z_][a-zA-Z0-9_.-]{0,12}",
        "[0-9а-я.-]{3,8}",
        select(vec!["with", "FROM", "index", "purge", "model", "all", "E"]).prop_map(str::to_owned)
    ]
    .prop_filter("a name", |name| SourceName::new(name.as_str()).is_ok())
}

fn source() -> impl Strategy<Value = Located<SourceName>> {
    names().prop_map(|name| SourceName::new(name).expect("filtered").into())
}

fn sources(least: usize) -> impl Strategy<Value = Vec<Located<SourceName>>> {
    proptest::collection::btree_set(names(), least..4)
        .prop_map(|names| names.into_iter().map(|name| SourceName::new(name).expect("filtered").into()).collect())
}

fn model() -> impl Strategy<Value = ModelName> {
    names().prop_map(|name| ModelName::new(name).expect("filtered"))
}

/// One value per key; a subsequence keeps keys unique.
fn limits() -> impl Strategy<Value = Vec<Limit>> {
    let numbers = (0..=i64::MAX, any::<u64>(), any::<u32>(), 0..=1_000_000u32, any::<bool>());
    let words = (
        select(vec![Sensitivity::Public, Sensitivity::Internal, Sensitivity::Confidential, Sensitivity::Restricted]),
        select(vec![UncertainLatency::Allow, UncertainLatency::Refuse]),
    );
    (numbers, words).prop_flat_map(|((nano, large, small, ppm, flag), (label, uncertain))| {
        let all = vec![
            Limit::MaxCost(NanoUsd(nano)),
            Limit::MaxLatency(Micros(large)),
            Limit::MaxTokens(Tokens(large)),
            Limit::MaxCalls(small),
            Limit::MaxToolCalls(small),
            Limit::MaxContextTokens(Tokens(large)),
            Limit::MaxOutputTokens(Tokens(u64::from(small))),
            Limit::MinAccuracy(Ppm(ppm)),
            Limit::FinalK(small),
            Limit::RequireCitations(flag),
            Limit::RequireVerification(!flag),
            Limit::RequireApproval(flag),
            Limit::Sensitivity(label),
            Limit::UncertainLatency(uncertain),
            Limit::Quantile(Ppm(500_000 + ppm / 3)),
        ];
        subsequence(all, 0..=15)
    })
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let objectives = select(vec![Objective::Weighted, Objective::MaxAccuracy, Objective::MinCost, Objective::MinLatency]);
    (0..=1_000_000_000_000i64, any::<u64>(), objectives).prop_flat_map(|(weight, seed, objective)| {
        let mut all: Vec<Wish> = Term::ALL.into_iter().map(|term| Wish::Weight(term, weight)).collect();
        all.extend([Wish::Objective(objective), Wish::Seed(seed)]);
        subsequence(all, 0..=10)
    })
}

fn hints() -> impl Strategy<Value = Vec<Located<Hint>>> {
    (words(), words(), model(), words()).prop_flat_map(|(force, forbid, model, gist)| {
        let all: Vec<Located<Hint>> =
            vec![Hint::Force(force).into(), Hint::Forbid(forbid).into(), Hint::Model(model).into(), Hint::Gist(ContentId(gist)).into()];
        subsequence(all, 0..=4)
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    (words(), sources(0), limits(), wishes(), hints()).prop_map(|(goal, sources, limits, wishes, hints)| Ask {
        sources,
        limits,
        wishes,
        hints,
        ..Ask::new(goal)
    })
}

fn options() -> impl Strategy<Value = Vec<Located<ExplainOption>>> {
    let format = select(vec![Format::Text, Format::Json, Format::Yaml, Format::Mermaid, Format::Dot, Format::Html, Format::Pg]);
    (any::<bool>(), format).prop_flat_map(|(on, format)| {
        let all: Vec<Located<ExplainOption>> = vec![
            ExplainOption::Analyze(on).into(),
            ExplainOption::Verbose(!on).into(),
            ExplainOption::Costs(on).into(),
            ExplainOption::Timing(on).into(),
            ExplainOption::Buffers(!on).into(),
            ExplainOption::Settings(on).into(),
            ExplainOption::Summary(!on).into(),
            ExplainOption::Memory(on).into(),
            ExplainOption::GenericPlan(on).into(),
            ExplainOption::Redact(on).into(),
            ExplainOption::Format(format).into(),
        ];
        subsequence(all, 0..=11)
    })
}

fn show() -> impl Strategy<Value = Show> {
    prop_oneof![
        select(vec![Show::Sources, Show::Models, Show::PlanCache, Show::Statistics(None), Show::Traces, Show::Settings, Show::All]),
        model().prop_map(|model| Show::Statistics(Some(Of::Model(model.into())))),
        source().prop_map(|source| Show::Statistics(Some(Of::Source(source)))),
        words().prop_map(|id| Show::Trace(id.into())),
        select(SettingKey::all().collect::<Vec<_>>()).prop_map(Show::Setting),
    ]
}

fn setting() -> impl Strategy<Value = Setting> {
    let output = |on| select(vec![Output::Timing(on), Output::Expanded(on), Output::Json(on), Output::AutoRefresh(on)]);
    prop_oneof![
        limits().prop_filter_map("one", |limits| limits.first().copied().map(Setting::Limit)),
        wishes().prop_filter_map("one", |wishes| wishes.last().copied().map(Setting::Wish)),
        any::<bool>().prop_flat_map(output).prop_map(Setting::Output),
    ]
}

fn create() -> impl Strategy<Value = Statement> {
    let rules = (
        select(SourceKind::ALL.to_vec()),
        select(vec![RefreshRule::Always, RefreshRule::Manual, RefreshRule::Interval(7)]),
        select(vec![LabelRule::Off, LabelRule::Warn, LabelRule::Raise]),
        proptest::collection::vec("[a-z' ]{1,6}".prop_map(|s| s.trim().to_owned()).prop_filter("a role", |s| !s.is_empty()), 1..3),
    );
    (source(), words(), any::<bool>(), rules).prop_flat_map(|(name, path, if_not_exists, (kind, refresh, label, roles))| {
        let all = vec![
            Property::Kind(kind),
            Property::Sensitivity(Sensitivity::Restricted),
            Property::Refresh(refresh),
            Property::AutoLabel(label),
            Property::ReadableBy(roles),
        ];
        subsequence(all, 0..=5).prop_map(move |properties| {
            Statement::CreateSource(CreateSource { name: name.clone(), path: path.clone().into(), properties, if_not_exists })
        })
    })
}

fn statement() -> impl Strategy<Value = Statement> {
    prop_oneof![
        3 => ask().prop_map(Statement::Answer),
        3 => (options(), ask()).prop_map(|(options, ask)| Statement::Explain(Explain { options, subject: Subject::Answer(ask) })),
        1 => (options(), words(), words())
            .prop_map(|(options, a, b)| Statement::Explain(Explain { options, subject: Subject::Diff(a.into(), b.into()) })),
        1 => ask().prop_map(Statement::Simulate),
        1 => sources(0).prop_map(Statement::Analyze),
        2 => show().prop_map(Statement::Show),
        2 => setting().prop_map(Statement::Set),
        1 => proptest::option::of(select(SettingKey::all().collect::<Vec<_>>())).prop_map(Statement::Reset),
        2 => create(),
        1 => (sources(1), any::<bool>()).prop_map(|(names, if_exists)| Statement::DropSource { names, if_exists }),
        1 => sources(0).prop_map(Statement::Refresh),
        1 => (sources(0), any::<bool>()).prop_map(|(sources, purge)| Statement::Index { sources, purge }),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same_statement(statement in statement()) {
        let text = statement.to_string();
        let again = parse(&text).unwrap_or_else(|e| panic!("{}", e.render(None, &text, 100)));
        prop_assert_eq!(&again, &statement, "{}", text);
        prop_assert_eq!(again.to_string(), text);
    }

    #[test]
    fn a_script_is_its_statements(statements in proptest::collection::vec(statement(), 0..4)) {
        let text: String = statements.iter().map(|statement| format!("-- it's ;\n{statement} ;\n")).collect();
        let again = parse_script(&text).unwrap_or_else(|e| panic!("{}", e.render(None, &text, 100)));
        prop_assert_eq!(again.iter().map(|parsed| parsed.value.clone()).collect::<Vec<_>>(), statements);
        for parsed in &again {
            prop_assert_eq!(&parse(&text[parsed.at.range(&text)]).expect("its own text"), &parsed.value);
        }
    }
}

#[test]
fn clauses_stand_in_any_order_and_case() {
    let canonical = parse("ANSWER 'x' FROM a, b WITH (max_calls = 3) USING (acc = 2) HINT (FORCE bm25)").expect("valid");
    let other = parse("answer $$x$$ hint(force 'bm25')using(ACC=2.0)\nwith (Max_Calls = 3e0) -- why\n from a,\"b\";").expect("valid");
    assert_eq!(canonical, other);
    let explain = parse("EXPLAIN ANALYZE VERBOSE ANSWER 'x'").expect("valid");
    assert_eq!(explain.to_string(), "EXPLAIN (ANALYZE, VERBOSE) ANSWER 'x'");
    assert_eq!(parse("explain (analyze true, verbose on) answer 'x'").expect("valid"), explain);
    assert_eq!(parse("SET acc TO 1.50").expect("valid").to_string(), "SET acc = 1.5");
    assert_eq!(
        parse("CREATE SOURCE l FROM './l' WITH (refresh = 'interval 5')").expect("valid").to_string(),
        "CREATE SOURCE l FROM './l' WITH (refresh = 5)"
    );
}

#[test]
fn the_goal_travels_verbatim() {
    for goal in ["  a AND b ", "title:(x) OR 1=1; DROP SOURCE docs", "пароль \u{202e} 'quoted'", "line\nline\r\n"] {
        let written = format!("ANSWER $q${goal}$q$");
        let Ok(Statement::Answer(ask)) = parse(&written) else { panic!("{written}") };
        assert_eq!(ask.goal, goal);
    }
}
