// What mdBook's pages lack for a keyboard and a screen reader: a role for the button of the table of
// contents, and blocks of code and tables that scroll by keys.
document.getElementById('mdbook-sidebar-toggle')?.setAttribute('role', 'button')
for (const scrolls of document.querySelectorAll('main pre > code, main .table-wrapper')) scrolls.tabIndex = 0
