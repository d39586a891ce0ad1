//! Statements: a small SQL-like language over goals. Text to values and back; nothing is executed here, and no file, clock
//! or name of a plugin is known.
//!
//! ```
//! use ctx_sql::{Statement, parse};
//!
//! let statement = parse("answer 'Why did deploy 1423 fail?' from logs, runbooks with (max_cost_usd = 0.05, require_citations)").unwrap();
//! assert!(matches!(&statement, Statement::Answer(ask) if ask.sources.len() == 2));
//! assert_eq!(
//!     statement.to_string(),
//!     "ANSWER 'Why did deploy 1423 fail?' FROM logs, runbooks WITH (max_cost_usd = 0.05, require_citations)"
//! );
//!
//! let script = "SHOW SOURCES;\nANSWER 'Why?' FORM docs;";
//! let error = ctx_sql::parse_script(script).unwrap_err();
//! assert_eq!((error.position(script).line, error.position(script).column), (2, 15));
//! assert_eq!(error.hint.as_deref(), Some("did you mean FROM?"));
//! ```
//!
//! # Grammar
//!
//! ```ebnf
//! script    = [ statement ] { ";" [ statement ] } ;
//! statement = answer | explain | simulate | analyze | show | set | reset | create | drop | refresh | index ;
//!
//! answer    = "ANSWER" text { from | with | using | hint } ;             (* each clause at most once, in any order *)
//! from      = "FROM" sources ;                                           (* without it: every source of the session *)
//! with      = "WITH" "(" limit { "," limit } ")" ;
//! using     = "USING" "(" wish { "," wish } ")" ;
//! hint      = "HINT" "(" advice { "," advice } ")" ;
//! limit     = limit_key [ "=" value ] ;                                  (* require_… alone means true *)
//! wish      = wish_key "=" value ;
//! advice    = ( "FORCE" | "FORBID" ) name | "MODEL" name | "GIST" name ;
//! limit_key = "max_cost_usd" | "max_latency_seconds" | "max_tokens" | "max_calls" | "max_tool_calls"
//!           | "max_context_tokens" | "max_output_tokens" | "min_accuracy" | "final_k" | "require_citations"
//!           | "require_verification" | "require_approval" | "sensitivity" | "uncertain_latency" | "quantile" ;
//! wish_key  = "acc" | "cost" | "lat" | "risk" | "hall" | "loss" | "cache" | "vrf" | "objective" | "seed" ;
//!
//! explain   = "EXPLAIN" ( "(" option { "," option } ")" | [ "ANALYZE" ] [ "VERBOSE" ] ) ( answer | "DIFF" name name ) ;
//! option    = switch [ [ "=" ] boolean ] | "FORMAT" [ "=" ] format ;
//! switch    = "ANALYZE" | "VERBOSE" | "COSTS" | "TIMING" | "BUFFERS" | "SETTINGS" | "SUMMARY" | "MEMORY"
//!           | "GENERIC_PLAN" | "REDACT" ;
//! format    = "text" | "json" | "yaml" | "mermaid" | "dot" | "html" | "pg" ;
//!
//! simulate  = "SIMULATE" answer ;
//! analyze   = "ANALYZE" [ sources ] ;
//! refresh   = "REFRESH" [ sources ] ;
//! index     = "INDEX" [ sources ] [ "PURGE" ] ;
//! show      = "SHOW" ( "SOURCES" | "MODELS" | "PLAN" "CACHE" | "TRACES" | "TRACE" name | "SETTINGS" | "ALL" | setting
//!           | "STATISTICS" [ "FOR" ( "MODEL" | "SOURCE" ) name ] ) ;
//! set       = "SET" setting ( "=" | "TO" ) value ;
//! reset     = "RESET" ( setting | "ALL" ) ;
//! setting   = limit_key | wish_key | "timing" | "expanded" | "json" | "auto_refresh" ;
//! create    = "CREATE" "SOURCE" [ "IF" "NOT" "EXISTS" ] name "FROM" text [ "WITH" "(" property { "," property } ")" ] ;
//! property  = ( "kind" | "sensitivity" | "refresh" | "auto_label" | "readable_by" ) "=" value ;
//! drop      = "DROP" "SOURCE" [ "IF" "EXISTS" ] sources ;
//!
//! sources   = name { "," name } ;
//! name      = word | '"' … '"' | text ;
//! value     = [ "+" | "-" ] number | word | text ;
//! text      = "'" … "'" | "$$" … "$$" | "$tag$" … "$tag$" ;
//! word      = letter { letter | digit | "_" | ( "." | "-" ) ( letter | digit | "_" ) } ;       (* "_" is a letter *)
//! number    = digit { digit | "_" } [ "." { digit } ] [ "e" [ "+" | "-" ] digit { digit } ] ;
//! boolean   = "true" | "false" | "on" | "off" | "yes" | "no" | "1" | "0" ;
//! ```
//!
//! Quotes are PostgreSQL's with standard strings: `''` in a text is one quote, `""` in a name is one, a backslash is a
//! backslash, nothing between dollars is special. Comments are `-- to the end of the line` and `/* nested /* too */ */`.
//! Keywords ignore case; names keep theirs and are never folded. Words that begin a statement or a clause are names only in
//! double quotes.
//!
//! # What is checked where
//!
//! Keys, types and ranges are checked by the parser, which points at the token; which sources, models, operators and formats
//! exist is for whoever executes a statement to say. Every name keeps its place for that message.
//!
//! Reading order: [`statement`] → [`limit`], [`wish`], [`setting`], [`source`] → `lexer` → `parser` → `print` → [`error`].

mod complete;
pub mod error;
mod expected;
mod help;
mod keyword;
mod lexer;
pub mod limit;
mod parser;
mod print;
mod script;
pub mod setting;
pub mod source;
mod span;
pub mod statement;
mod token;
mod value;
pub mod wish;

pub use complete::{Completion, Names, complete};
pub use error::{Problem, SqlError};
pub use help::{SYNOPSES, Synopsis};
pub use keyword::STATEMENTS;
pub use lexer::SCRIPT_BYTES_MAX;
pub use limit::{Limit, LimitKey};
pub use script::{Statements, Typed, parse, parse_script, typed};
pub use setting::{Output, Setting, SettingKey};
pub use span::{Located, Position, Span, position};
pub use statement::{Ask, CreateSource, Explain, ExplainOption, Format, Show, Statement, Subject};
pub use wish::{Term, Wish, WishKey};
