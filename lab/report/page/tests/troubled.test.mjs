// Runs with little or nothing to show, and text that tries to be more than text.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

test('a label that closes the script and brings an image is only a label', async () => {
  const { page, problems, close } = await open('hostile')
  const label = summaryOf('hostile').label
  assert.equal(await page.locator('img').count(), 0)
  assert.equal(await page.locator('script').count(), 2)
  assert.notEqual(await page.title(), 'owned')
  assert.ok((await page.locator('h1').innerText()).includes(label.slice(0, 40)))
  await page.locator(':nth-match(article.curve, 1) .chart').focus()
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  assert.ok((await page.locator(':nth-match(article.curve, 1) .tip').innerText()).includes('op/s</script>'))
  assert.equal(await page.locator('img').count(), 0)
  assert.deepEqual(problems, [])
  await close()
})

test('one CPU: the page says that nothing can be said', async () => {
  const { page, close } = await open('one-cpu', { hash: '#log=1' })
  assert.match(await page.locator('#warnings').innerText(), /one-cpu/)
  assert.match(await page.locator(':nth-match(article.curve, 1) .verdict').innerText(), /not measured\s+fewer than two numbers of tasks/)
  assert.equal(await page.locator(':nth-match(article.curve, 1) .canvas svg').count(), 1)
  assert.match(await page.locator('.standing').innerText(), /2 skipped because the time was used up, 6 not run yet/)
  await close()
})

test('all failed: no empty chart, but the reasons in words', async () => {
  const { page, close } = await open('all-failed')
  assert.equal(await page.locator('.chart').count(), 0)
  assert.match(await page.locator(':nth-match(article.curve, 1)').innerText(), /every attempt failed[^]*8 tasks: no figure: exec: Permission denied/)
  await close()
})

test('a point without a figure is marked in the chart', async () => {
  const { page, close } = await open('typical')
  assert.ok((await page.locator(':nth-match(article.curve, 8) .canvas text').allTextContents()).includes('✕ failed'))
  await close()
})

test('nothing measured yet: the page says so', async () => {
  const { page, close } = await open('empty')
  assert.match(await page.locator('#overview').innerText(), /There are no figures yet/)
  assert.match(await page.locator('.standing').innerText(), /40 not run yet/)
  await close()
})
