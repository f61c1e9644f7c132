// View, axes, filter, sorting and open figures: they do what they say and stand in the address.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

const hashOf = (page) => page.evaluate(() => location.hash)
/** Horizontal places of the points of the first chart. */
const places = (page) => page.locator(':nth-match(article.curve, 1) .canvas g[aria-label="dot"]').last().locator('circle').evaluateAll((all) => all.map((c) => c.getBoundingClientRect().x))
const yLabels = (page) => page.locator(':nth-match(article.curve, 1) .canvas g[aria-label="y-axis tick label"] text').allTextContents()

test('logarithmic axes put doubled tasks at equal distances', async () => {
  const { page, close } = await open('typical')
  const linear = await places(page)
  assert.ok(linear[3] - linear[2] > 1.9 * (linear[2] - linear[1]), String(linear))
  await page.getByRole('radio', { name: 'Logarithmic' }).check()
  const log = await places(page)
  assert.ok(Math.abs(log[3] - log[2] - (log[1] - log[0])) < 1, String(log))
  assert.equal(await hashOf(page), '#log=1')
  await close()
})

test('every tick of a logarithmic axis has its words, also where values are near each other', async () => {
  for (const view of ['rate', 'speedup', 'efficiency']) {
    for (const name of ['typical', 'two-points']) {
      const { page, close } = await open(name, { hash: `#log=1&view=${view}` })
      const axes = await page.locator('figure.scaling svg').evaluateAll((all) => all.map((svg) => [...svg.querySelectorAll('g[aria-label="y-axis tick label"] text')].map((text) => text.textContent)))
      for (const words of axes) {
        assert.ok(words.length >= 2 && words.every((word) => word !== ''), `${view}: ${words}`)
        assert.equal(new Set(words).size, words.length, `${view}: ${words}`)
      }
      await close()
    }
  }
})

test('the view changes every chart and its axis', async () => {
  const { page, close } = await open('typical')
  assert.ok((await yLabels(page)).includes('40 k'))
  await page.getByRole('radio', { name: 'Speed-up' }).check()
  assert.ok((await yLabels(page)).includes('8'))
  await page.getByRole('radio', { name: 'Efficiency' }).check()
  assert.ok((await yLabels(page)).includes('100 %'))
  assert.equal(await hashOf(page), '#view=efficiency')
  await close()
})

test('the filter leaves the curves of one workload', async () => {
  const { page, close } = await open('typical')
  const all = summaryOf('typical').curves
  await page.locator('.filter select').selectOption('zero_fill')
  assert.equal(await page.locator('article.curve:visible').count(), all.filter((curve) => curve.workload === 'zero_fill').length)
  assert.match(await page.locator('.count').innerText(), /3 of 9 curves/)
  assert.equal(await hashOf(page), '#filter=zero_fill')
  await close()
})

test('an address with a state shows that state', async () => {
  const { page, close } = await open('typical', { hash: '#log=1&view=speedup&filter=map_churn&open=map_churn:private:thread' })
  assert.ok(await page.locator('input[value=log]').isChecked())
  assert.ok(await page.locator('input[value=speedup]').isChecked())
  assert.equal(await page.locator('article.curve:visible').count(), 1)
  assert.ok(await page.locator('article.curve:visible details').evaluate((details) => details.open))
  await close()
})

test('an address with nonsense shows everything', async () => {
  const { page, problems, close } = await open('typical', { hash: '#view=toString&filter=nothing&open=%00&log=maybe' })
  assert.equal(await page.locator('article.curve:visible').count(), 9)
  assert.ok(await page.locator('input[value=rate]').isChecked())
  assert.deepEqual(problems, [])
  await close()
})

test('opening a figure puts it into the address, closing it takes it out', async () => {
  const { page, close } = await open('typical')
  const summary = page.locator(':nth-match(article.curve, 2) summary')
  await summary.click()
  await page.waitForFunction(() => location.hash.includes('open='))
  assert.equal(decodeURIComponent(await hashOf(page)), '#open=self_exec:dynamic-shared:process')
  await summary.click()
  await page.waitForFunction(() => location.hash === '')
  await close()
})

test('links within the page move the focus and keep the state', async () => {
  const { page, close } = await open('typical', { hash: '#log=1' })
  await page.locator('#overview tbody a').nth(3).click()
  assert.equal(await page.evaluate(() => document.activeElement.id), 'curve-zero_fill:base:thread')
  assert.equal(await hashOf(page), '#log=1')
  await close()
})

test('the overview sorts by its exact numbers', async () => {
  const { page, close } = await open('typical')
  const column = 2
  const head = page.locator('#overview thead th').nth(column)
  await head.locator('button').click()
  const values = () => page.locator(`#overview tbody tr td:nth-child(${column + 1}) data`).evaluateAll((all) => all.map((data) => Number(data.value)))
  const up = await values()
  assert.deepEqual(up, up.toSorted((a, b) => a - b))
  assert.equal(await head.getAttribute('aria-sort'), 'ascending')
  await head.locator('button').click()
  assert.deepEqual(await values(), up.toReversed())
  await close()
})

test('printing opens every figure and leaves the state alone', async () => {
  const { page, close } = await open('typical')
  await page.evaluate(() => addEventListener('beforeprint', () => (window.openAtPrint = document.querySelectorAll('details[open]').length)))
  const paper = await page.pdf()
  assert.ok(paper.length > 20_000)
  assert.equal(await page.evaluate(() => window.openAtPrint), 9)
  assert.equal(await page.locator('details[open]').count(), 0)
  assert.equal(await hashOf(page), '')
  await close()
})

test('paper is white for readers of the dark mode too, without controls', async () => {
  const { page, close } = await open('typical', { scheme: 'dark' })
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).color), 'rgb(27, 31, 36)')
  assert.equal(await page.locator('#toolbar').isVisible(), false)
  assert.equal(await page.locator('nav').isVisible(), false)
  await close()
})
