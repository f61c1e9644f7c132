//! What says that a page stays up to date by itself. The script looks for it.

use crate::page::delivery::Site;
use maud::{Markup, html as markup};

/// A line on a page of a server whose content may be measured. `goes_on`: whether it is now; otherwise the line is not shown, and the script asks less often whether
/// a run has begun.
pub(super) fn line(goes_on: bool, site: &Site) -> Markup {
    let state = if goes_on { "on" } else { "off" };
    markup! {
        @if site.is_live() {
            p #live.hint role="status" data-live=(state) {
                @if goes_on { "A run is not finished. " span.live-state { "Reload the page for newer results." } }
            }
        }
    }
}
