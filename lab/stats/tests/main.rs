//! Simulated series, searches and comparisons with known answers.

mod battery;
mod bisect_cases;
mod bisect_seeds;
mod bisect_simulated;
mod bisect_world;
mod changes_simulated;
mod noise;
mod scaling_simulated;
mod sequential_simulated;
mod turing_series;
mod two_sample_simulated;
