// Controls and links of the page of a run: view, axes, filter, sorting, open curves, and their
// state in the address.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

const hashOf = (page) => page.evaluate(() => location.hash)
/** Horizontal positions of the points in the first chart. */
const places = (page) => page.locator(':nth-match(article.curve, 1) .canvas g[aria-label="dot"]').last().locator('circle').evaluateAll((all) => all.map((c) => c.getBoundingClientRect().x))
const yLabels = (page) => page.locator(':nth-match(article.curve, 1) .canvas g[aria-label="y-axis tick label"] text').allTextContents()

test('logarithmic axes have equal distances between doubled tasks', async () => {
  const { page } = await open('typical')
  const linear = await places(page)
  assert.ok(linear[3] - linear[2] > 1.9 * (linear[2] - linear[1]), String(linear))
  await page.getByRole('radio', { name: 'Logarithmic' }).check()
  const log = await places(page)
  assert.ok(Math.abs(log[3] - log[2] - (log[1] - log[0])) < 1, String(log))
  assert.equal(await hashOf(page), '#log=1')
})

test('every tick of a logarithmic axis has a distinct label', async () => {
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
  const { page } = await open('typical')
  assert.ok((await yLabels(page)).includes('40 k'))
  await page.getByRole('radio', { name: 'Speed-up' }).check()
  assert.ok((await yLabels(page)).includes('8'))
  await page.getByRole('radio', { name: 'Efficiency' }).check()
  assert.ok((await yLabels(page)).includes('100 %'))
  assert.equal(await hashOf(page), '#view=efficiency')
})

test('the filter shows the curves of one workload', async () => {
  const { page } = await open('typical')
  const all = summaryOf('typical').curves
  await page.locator('.filter select').selectOption('zero_fill')
  assert.equal(await page.locator('article.curve:visible').count(), all.filter((curve) => curve.workload === 'zero_fill').length)
  assert.match(await page.locator('.count').innerText(), /3 of 9 curves/)
  assert.equal(await hashOf(page), '#filter=zero_fill')
})

test('an address restores its state', async () => {
  const { page } = await open('typical', { hash: '#log=1&view=speedup&filter=map_churn&open=map_churn:private:thread' })
  assert.ok(await page.locator('input[value=log]').isChecked())
  assert.ok(await page.locator('input[value=speedup]').isChecked())
  assert.equal(await page.locator('article.curve:visible').count(), 1)
  assert.ok(await page.locator('article.curve:visible details').evaluate((details) => details.open))
})

test('an invalid address shows everything', async () => {
  const { page } = await open('typical', { hash: '#view=toString&filter=nothing&open=%00&log=maybe' })
  assert.equal(await page.locator('article.curve:visible').count(), 9)
  assert.ok(await page.locator('input[value=rate]').isChecked())
})

test('the address has the open curve', async () => {
  const { page } = await open('typical')
  const summary = page.locator(':nth-match(article.curve, 2) summary')
  await summary.click()
  await page.waitForFunction(() => location.hash.includes('open='))
  assert.equal(decodeURIComponent(await hashOf(page)), '#open=self_exec:dynamic-shared:process')
  await summary.click()
  await page.waitForFunction(() => location.hash === '')
})

test('links within the page move the focus and keep the state', async () => {
  const { page } = await open('typical', { hash: '#log=1' })
  await page.locator('#overview tbody a').nth(3).click()
  assert.equal(await page.evaluate(() => document.activeElement.id), 'curve-zero_fill:base:thread')
  assert.equal(await hashOf(page), '#log=1')
})

test('the overview sorts by its exact numbers', async () => {
  const { page } = await open('typical')
  const column = 2
  const head = page.locator('#overview thead th').nth(column)
  await head.locator('button').click()
  const values = () => page.locator(`#overview tbody tr td:nth-child(${column + 1}) data`).evaluateAll((all) => all.map((data) => Number(data.value)))
  const up = await values()
  assert.deepEqual(up, up.toSorted((a, b) => a - b))
  assert.equal(await head.getAttribute('aria-sort'), 'ascending')
  await head.locator('button').click()
  assert.deepEqual(await values(), up.toReversed())
})

test('printing unfolds all details and keeps the state', async () => {
  const { page } = await open('typical')
  await page.evaluate(() => addEventListener('beforeprint', () => (window.openAtPrint = document.querySelectorAll('details[open]').length)))
  const paper = await page.pdf()
  assert.ok(paper.length > 20_000)
  assert.equal(await page.evaluate(() => window.openAtPrint), 9)
  assert.equal(await page.locator('details[open]').count(), 0)
  assert.equal(await hashOf(page), '')
})

test('prints have light colours and no controls in dark mode too', async () => {
  const { page } = await open('typical', { scheme: 'dark' })
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).color), 'rgb(27, 31, 36)')
  assert.equal(await page.locator('#toolbar').isVisible(), false)
  assert.equal(await page.locator('nav').isVisible(), false)
})

const ids = (page) => page.locator('article.curve').evaluateAll((all) => all.map(({ id }) => id))
const inSight = (locator) => locator.evaluate((element) => {
  const { top } = element.getBoundingClientRect()
  return element.checkVisibility() && top > -1 && top < innerHeight
})

test('curves have ids of workload, variant and mode', async () => {
  for (const [name, curves] of [['typical', summaryOf('typical').curves], ['lens', summaryOf('lens').lens.curves]]) {
    const { page, close } = await open(name)
    assert.deepEqual(await ids(page), curves.map(({ workload, variant, mode }) => `curve-${workload}:${variant}:${mode}`))
    await close()
  }
})

test('workloads have ids of name and number of tasks', async () => {
  const { page } = await open('compared')
  assert.deepEqual(await ids(page), summaryOf('compared').workloads.map(({ name, tasks }) => `workload-${name}@${tasks}`))
})

for (const name of ['typical', 'hostile', 'lens', 'lens-hostile', 'compared', 'compared-imported', 'compared-hostile']) {
  test(`every link within ${name} has its target, and every name is used once`, async () => {
    const { page } = await open(name)
    const links = await page.locator('a[href^="#"]').evaluateAll((all) => all.map(({ hash }) => [hash, document.getElementById(hash.slice(1)) !== null]))
    assert.ok(links.length > 3)
    assert.deepEqual(links.filter(([, found]) => !found), [])
    const all = await page.evaluate(() => [...document.querySelectorAll('[id]')].map(({ id }) => id))
    assert.deepEqual(all.filter((id, index) => all.indexOf(id) !== index || /\s/.test(id)), [])
  })
}

test('a link to a curve that the filter hides shows it', async () => {
  const { page } = await open('typical', { hash: '#filter=compile&view=speedup' })
  assert.equal(await page.locator('article.curve:visible').count(), 1)
  await page.locator('#overview').getByRole('link', { name: 'map_churn:private' }).click()
  const card = page.locator('[id="curve-map_churn:private:thread"]')
  assert.ok(await inSight(card))
  assert.ok(await card.evaluate((element) => element === document.activeElement))
  assert.equal(await page.evaluate(() => location.hash), '#view=speedup', 'the filter is gone, the view stays')
  assert.equal(await page.locator('.filter select').inputValue(), '')
})

test('an address with the name of a curve leads there, at first and later', async () => {
  const { page } = await open('typical', { hash: '#curve-tree_build:generated:process' })
  assert.ok(await inSight(page.locator('[id="curve-tree_build:generated:process"]')))
  await page.locator('.filter select').selectOption('compile')
  await page.evaluate(() => (location.hash = '#curve-zero_fill:base:thread'))
  const card = page.locator('[id="curve-zero_fill:base:thread"]')
  await card.waitFor({ state: 'visible' })
  assert.ok(await inSight(card))
})

test('an address that opens and hides a curve shows it', async () => {
  const { page } = await open('typical', { hash: '#filter=compile&open=map_churn:private:thread' })
  const card = page.locator('[id="curve-map_churn:private:thread"]')
  assert.ok(await inSight(card))
  assert.ok(await card.locator('details').evaluate((details) => details.open))
})

test('an address may omit the mode', async () => {
  const { page } = await open('typical', { hash: '#open=map_churn:private' })
  assert.ok(await page.locator('[id="curve-map_churn:private:thread"] details').evaluate((details) => details.open))
})

test('a filter that hides the open curve removes it from the address', async () => {
  const { page } = await open('typical', { hash: '#open=map_churn:private:thread' })
  await page.locator('.filter select').selectOption('compile')
  assert.equal(await page.evaluate(() => location.hash), '#filter=compile')
})

test('a link to folded content unfolds it', async () => {
  const { page } = await open('lens')
  await page.evaluate(() => {
    const table = document.querySelector('article.curve details table')
    table.id = 'folded'
    document.querySelector('nav').insertAdjacentHTML('beforeend', '<a href="#folded">folded</a>')
  })
  await page.getByRole('link', { name: 'folded' }).click()
  assert.ok(await inSight(page.locator('#folded')))
})

test('links work without JavaScript', async () => {
  const { page } = await open('hostile', { javaScriptEnabled: false })
  await page.locator('#overview tbody a').first().click()
  assert.ok(await page.locator('article.curve').first().evaluate((card) => card.matches(':target')))
})
