//! The shape of each statement, for `\h` and messages. A test holds it against the parser.

/// A statement and how it is written.
pub struct Synopsis {
    /// Its first words.
    pub statement: &'static str,
    /// What it does.
    pub about: &'static str,
    /// How it is written.
    pub shape: &'static str,
}

/// Every statement.
pub const SYNOPSES: [Synopsis; 11] = [
    Synopsis {
        statement: "ANSWER",
        about: "plan, execute and verify a goal",
        shape: "ANSWER 'goal' [FROM source, …] [WITH (limit = value, …)] [USING (weight = number, …)]\n  [HINT (FORCE operator, FORBID operator, MODEL name, GIST 'id')]",
    },
    Synopsis {
        statement: "EXPLAIN",
        about: "show the plan of a goal, why it won and why the others lost",
        shape: "EXPLAIN [ANALYZE] [VERBOSE] ANSWER …\nEXPLAIN (ANALYZE, VERBOSE, COSTS, TIMING, BUFFERS, SETTINGS, SUMMARY, MEMORY, GENERIC_PLAN, REDACT, FORMAT name) ANSWER …\nEXPLAIN DIFF 'id' 'id'",
    },
    Synopsis { statement: "SIMULATE", about: "quote a goal: nothing is executed", shape: "SIMULATE ANSWER …" },
    Synopsis { statement: "ANALYZE", about: "collect statistics of sources anew", shape: "ANALYZE [source, …]" },
    Synopsis {
        statement: "SHOW",
        about: "show what is known",
        shape: "SHOW SOURCES | MODELS | PLAN CACHE | STATISTICS [FOR MODEL name | FOR SOURCE name] | TRACES | TRACE id | SETTINGS | ALL | setting",
    },
    Synopsis { statement: "SET", about: "set a limit, a weight or how results are shown, for this session", shape: "SET setting = value" },
    Synopsis { statement: "RESET", about: "set a setting back", shape: "RESET setting | ALL" },
    Synopsis {
        statement: "CREATE SOURCE",
        about: "add a source to this session",
        shape: "CREATE SOURCE [IF NOT EXISTS] name FROM 'path'\n  [WITH (kind = files, sensitivity = internal, refresh = always, auto_label = warn, readable_by = 'role, …')]",
    },
    Synopsis { statement: "DROP SOURCE", about: "take a source out of this session", shape: "DROP SOURCE [IF EXISTS] name, …" },
    Synopsis { statement: "REFRESH", about: "index what changed, as each source's refresh rule says", shape: "REFRESH [source, …]" },
    Synopsis {
        statement: "INDEX",
        about: "index what is missing or changed; PURGE removes deleted text from the disk now",
        shape: "INDEX [source, …] [PURGE]",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_has_a_shape() {
        for word in crate::keyword::STATEMENTS {
            assert!(SYNOPSES.iter().any(|synopsis| synopsis.statement.starts_with(word)), "{word}");
        }
    }
}
