// Ten pages of the demo site at 1400 and 400 px: each fits its screen and passes axe. Their
// pictures are written to target/pictures. `PICTURES=docs` replaces those of the documents.
// Requires `make demo`.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkPage, openPage, SCREENS, useBrowser } from '../browser.mjs'
import { ROOT } from './lab.mjs'

const DEMO = pathToFileURL(join(ROOT, 'target/demo')).href
const PICTURES = join(ROOT, 'target/pictures')

/** Pages that are pictures of a document, each with its uppermost part there. */
const IN_DOCUMENTS = process.env.PICTURES === 'docs' ? { overview: '.masthead', linux: '.masthead', 'step-of-linux': '#counts' } : {}

useBrowser()
mkdirSync(PICTURES, { recursive: true })

/** Opens a page of files. */
function openFile(top, path, options) {
  return openPage(`${top}/${path}`, { offline: true, allowed: (url) => url.startsWith(`${top}/`), ...options })
}

/** The address of a link in the first row of a list that has a text, from the top of the site. */
async function linkIn(path, list, text, link = '') {
  const { page, close } = await openFile(DEMO, path)
  const row = page.locator(`${list} tbody tr`).filter({ hasText: text }).first()
  const address = await row.locator('a[href]').filter({ hasText: link }).first().evaluate((found) => found.href)
  await close()
  return address.slice(DEMO.length + 1)
}

/** Ten pages of the demo site. */
async function addresses() {
  const [crate, linux] = [await linkIn('index.html', '#histories', 'load'), await linkIn('index.html', '#histories', /linux.* better/)]
  const run = await linkIn('runs.html', '#runs', 'map_churn')
  return {
    overview: 'index.html',
    changes: 'changes.html#state=all',
    machines: 'machines.html',
    crate: await linkIn(crate, '#steps', ''),
    'step-of-a-crate': await linkIn(crate, '#steps', '', 'Compare both sides'),
    linux,
    'step-of-linux': await linkIn(linux, '#steps', /^6\.12/, 'Compare both sides'),
    search: await linkIn('runs.html', '#runs', 'bisect'),
    run,
    executions: run.replace('.html', '/executions.html'),
  }
}

test('ten pages of the demo site fit both screens and pass axe', async () => {
  const pages = Object.entries(await addresses())
  assert.equal(pages.length, 10)
  for (const [name, address] of pages) {
    for (const [scheme, width] of SCREENS) {
      const { page, close } = await openFile(DEMO, address, { scheme, width })
      if (address.includes('at=')) await page.locator('.tip.locked').waitFor()
      await checkPage(page, `${name}, ${width}`)
      await page.screenshot({ path: join(PICTURES, `${name}-${width}.png`), fullPage: true })
      if (IN_DOCUMENTS[name] && scheme === 'light') {
        await page.locator(IN_DOCUMENTS[name]).evaluate((part) => part.scrollIntoView())
        await page.screenshot({ path: join(ROOT, `docs/pictures/page-${name}.png`) })
      }
      await close()
    }
  }
})
