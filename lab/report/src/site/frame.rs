//! What the pages of a site share: the masthead with the way to the others.

use crate::page::delivery::{Delivery, Site};
use crate::page::document::document;
use maud::{Markup, html as markup};
use serde::Serialize;

/// A page of a site, without data for the script.
pub(super) fn page(site: &Site, title: &str, about: Markup, parts: Markup) -> String {
    page_with(site, title, about, parts, None::<&()>)
}

/// A page of a site. `about`: what stands below its title. `data`: what the script draws.
pub(super) fn page_with<T: Serialize>(
    site: &Site,
    title: &str,
    about: Markup,
    parts: Markup,
    data: Option<&T>,
) -> String {
    let delivery = Delivery::Site(site);
    let masthead = markup! {
        header.masthead {
            (delivery.brand())
            h1 { (title) }
            (about)
        }
    };
    let parts = markup! { div #content tabindex="-1" { (parts) } };
    document(&delivery, title, ("#content", "Skip to the content"), masthead, parts, data)
}
