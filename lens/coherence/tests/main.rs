//! The model of coherence against a simple reference, and known cases.

mod against_reference;
mod known_cases;
mod reference;
