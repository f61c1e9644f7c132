// Milliseconds from opening an address to its drawn plot: `node first-plot.mjs ADDRESS`. The
// variable CHROMIUM replaces /usr/bin/chromium.

import { chromium } from 'playwright-core'

const [address] = process.argv.slice(2)
if (!address) throw new Error('usage: node first-plot.mjs ADDRESS')
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const begun = performance.now()
  await page.goto(address)
  await page.locator('.chart svg').first().waitFor()
  console.log((performance.now() - begun).toFixed(1))
} finally {
  await browser.close()
}
