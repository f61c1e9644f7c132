//! The public interface: one file per property.

mod hotplug;
mod machine;
mod placement;
mod pressure;
mod reference;
mod steps;
mod stranding;
mod stress;
mod watched;
