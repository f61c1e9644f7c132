// The documentation as a site, at 1400 and 400 px: each page fits its screen and passes axe, and
// search finds a word. A picture of a gate's comment is written to target/pictures. Requires
// `make site`.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkPage, openPage, SCREENS, useBrowser } from '../browser.mjs'
import { ROOT } from './lab.mjs'

const PLACE = join(ROOT, 'target/site')
const SITE = pathToFileURL(PLACE).href
const PAGES = [...new Set([...readFileSync(join(PLACE, 'toc.html'), 'utf8').matchAll(/href="([^"#]+\.html)"/g)].map((found) => found[1]))]

const PICTURES = join(ROOT, 'target/pictures')

useBrowser()
mkdirSync(PICTURES, { recursive: true })

/** Opens a page of the site. */
function openFile(path, options) {
  return openPage(`${SITE}/${path}`, { offline: true, allowed: (url) => url.startsWith(`${SITE}/`), ready: 'js', ...options })
}

test('every page of the documentation fits both screens and passes axe', async () => {
  assert.ok(PAGES.length > 20, `${PAGES.length} pages`)
  const faults = []
  for (const path of PAGES) {
    for (const [scheme, width] of SCREENS) {
      const { page, close } = await openFile(path, { scheme, width })
      const fault = ({ message }) => faults.push(`${path}, ${width}: ${message}`)
      await checkPage(page, path).catch(fault)
      await close().catch(fault)
    }
  }
  assert.deepEqual(faults, [])
})

test('the comment of a gate is a picture', async () => {
  for (const [scheme, width] of SCREENS) {
    const { page, close } = await openFile('docs/CI.html', { scheme, width })
    const comment = page.locator('blockquote').filter({ hasText: 'Faultline: worse' })
    await comment.screenshot({ path: join(PICTURES, `comment-${width}.png`) })
    await close()
  }
})

test('search finds a word of the documentation', async () => {
  const { page, close } = await openFile('index.html', { width: 1400 })
  const bar = page.locator('#mdbook-searchbar')
  const found = page.locator('#mdbook-searchresults a').first()
  // The page loads the index of its search after it is shown, and ignores keys until then.
  for (let left = 30; left > 0 && !(await found.isVisible()); left--) {
    if (!(await bar.isVisible())) await page.keyboard.press('/')
    else {
      await bar.fill('')
      await bar.pressSequentially('bisect')
    }
    await page.waitForTimeout(700)
  }
  await found.waitFor()
  await close()
})
