//! Fakes of every contract, fixed clock, catalogs, the .plan runner, conformance suites.
