//! What says that a page stays up to date by itself. The script looks for it.

use crate::page::delivery::Site;
use maud::{Markup, html as markup};

/// A line on a page of a server whose content is still measured. `goes_on`: whether it is.
pub(super) fn line(goes_on: bool, site: &Site) -> Markup {
    markup! {
        @if goes_on && site.is_live() {
            p #live.hint role="status" data-live { "A run is not finished. " span.live-state { "Reload the page for newer results." } }
        }
    }
}
