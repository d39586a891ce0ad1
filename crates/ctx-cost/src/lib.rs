//! Estimators, statistics and calibration.
