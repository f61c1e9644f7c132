// The page opens from a file, asks nobody, breaks nothing, and is there without its script too.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIXTURES, SCHEMES, open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

for (const name of FIXTURES) {
  for (const scheme of SCHEMES) {
    test(`${name} opens offline without a complaint, ${scheme}`, async () => {
      const { page, problems, close } = await open(name, { scheme })
      assert.match(await page.title(), /^Run 12/)
      assert.deepEqual(problems, [])
      await close()
    })
  }
}

test('the policy forbids to load or to send anything', async () => {
  const { page, problems, close } = await open('typical')
  const refused = await page.evaluate(async () => {
    const violation = new Promise((resolve) => addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective)))
    await fetch('http://127.0.0.1:9/').catch(() => {})
    return violation
  })
  assert.equal(refused, 'connect-src')
  assert.ok(problems.every((problem) => problem.includes('127.0.0.1')), problems.join('\n'))
  await close()
})

test('without JavaScript all tables are there and the controls are not', async () => {
  const { page, close } = await open('typical', { javaScriptEnabled: false })
  const curves = summaryOf('typical').curves
  assert.equal(await page.locator('#overview tbody tr').count(), curves.length)
  assert.equal(await page.locator('article.curve').count(), curves.length)
  assert.equal(await page.locator('#toolbar').isVisible(), false)
  assert.equal(await page.locator('#download').isVisible(), false)
  assert.ok(await page.locator('.chart noscript p').first().isVisible())
  await page.locator('article.curve summary').first().click()
  assert.ok(await page.locator('article.curve table').first().isVisible())
  await close()
})
