// Screenshots of a page for README: `node pictures.mjs REPORT.html OUT_DIR`, for a report of the
// quick suite. The variable CHROMIUM replaces /usr/bin/chromium.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const [report, out] = process.argv.slice(2)
if (!out) throw new Error('usage: node pictures.mjs REPORT.html OUT_DIR')
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
try {
  const page = await browser.newPage({ colorScheme: 'light', reducedMotion: 'reduce', viewport: { width: 1200, height: 1000 } })
  await page.goto(pathToFileURL(report).href)
  await page.locator('.chart svg').first().waitFor()
  const part = (selector) => page.locator(selector).boundingBox()
  const [head, overview] = [await part('.masthead'), await part('#overview')]
  const whole = { x: 0, y: 0, width: 1200, height: overview.y + overview.height + 14 - head.y + 8 }
  await page.screenshot({ path: join(out, 'page-overview.png'), clip: whole, fullPage: true })
  const [first, third] = [await part('.cards .curve >> nth=4'), await part('.cards .curve >> nth=11')]
  const cards = { x: first.x - 10, y: first.y - 10, width: third.x + third.width - first.x + 20, height: third.y + third.height - first.y + 20 }
  await page.screenshot({ path: join(out, 'page-curves.png'), clip: cards, fullPage: true })
} finally {
  await browser.close()
}
