// What holds of every page: it fits its screen, axe finds nothing serious, and nothing complains.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Light on a wide screen, dark on a narrow one. */
export const SCREENS = [['light', 1280], ['dark', 400]]

/** Checks an opened page. `name` tells which it is in the message of a failure. */
export async function checkPage(page, problems, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`)
  await page.evaluate(AXE)
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.length, nodes[0].html]), [], name)
  assert.equal(await page.locator('img').count(), 0)
  assert.deepEqual(problems, [], name)
}
