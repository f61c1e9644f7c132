// The page of a comparison: charts by keyboard and pointer, and tables.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { COMPARISONS, open, SCHEMES, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

const numbersOf = (row) => row.locator('data').evaluateAll((all) => all.map((data) => Number(data.value)))
/** The change of cost from the first to the second side, as a share. */
const cost = ({ direction, ratio }, end) => (direction === 'lower' ? ratio[end] : 1 / ratio[{ value: 'value', low: 'high', high: 'low' }[end]]) - 1
/** True if its ratio is shown. */
const hasEstimate = ({ inconclusive }) => [null, 'not-interleaved', 'past-margin'].includes(inconclusive)

for (const name of COMPARISONS) {
  for (const scheme of SCHEMES) {
    test(`${name} opens offline without a complaint, ${scheme}`, async () => {
      const { page } = await open(name, { scheme })
      assert.match(await page.title(), / → [^]* – Faultline$/)
    })
  }

  test(`nothing of ${name} is wider than its place`, async () => {
    for (const width of [1280, 390, 320]) {
      const { page, close } = await open(name, { width })
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      assert.equal(overflow, 0, `${width} pixels wide`)
      await close()
    }
  })
}

test('every workload has a row, a card and charts', async () => {
  const { page } = await open('compared')
  const { workloads } = summaryOf('compared')
  assert.equal(await page.locator('#overview tbody tr').count(), workloads.length)
  assert.equal(await page.locator('article.curve').count(), workloads.length)
  assert.equal(await page.locator('.forest svg').count(), 1)
  assert.equal(await page.locator('article.curve .distribution svg').count(), workloads.length)
  assert.equal(await page.locator('article.curve .order svg').count(), workloads.length)
})

test('both sides have a curve by tasks, with keyboard access', async () => {
  const { page } = await open('compared-scaled')
  const { workloads } = summaryOf('compared-scaled')
  const tasksOf = (name) => [...new Set(workloads.filter((one) => one.name === name).map(({ tasks }) => tasks))].filter((tasks) => tasks !== null)
  const names = [...new Set(workloads.map(({ name }) => name))].filter((name) => tasksOf(name).length > 1)
  assert.ok(names.length > 0)
  assert.equal(await page.locator('figure.both svg').count(), names.length)
  const chart = page.locator('figure.both .chart').first()
  await chart.focus()
  await page.keyboard.press('Home')
  assert.match(await chart.locator('.tip').innerText(), new RegExp(`A at ${Math.min(...tasksOf(names[0]))} task`))
  await page.keyboard.press('End')
  assert.match(await chart.locator('.tip').innerText(), new RegExp(`B at ${Math.max(...tasksOf(names[0]))} task`))
})

test('the tables have the numbers of the JSON', async () => {
  const { page } = await open('compared')
  const { workloads } = summaryOf('compared')
  const near = (actual, expected, what) => {
    assert.equal(actual.length, expected.length, what)
    actual.forEach((value, index) => assert.ok(Math.abs(value - expected[index]) <= 1e-12 * Math.max(1, Math.abs(expected[index])), `${what}: ${actual} is not ${expected}`))
  }
  for (const [index, workload] of workloads.entries()) {
    const { tasks, values, system_share, counters } = workload
    const found = hasEstimate(workload) ? [cost(workload, 'value'), cost(workload, 'low'), workload.ratio.level] : []
    const shares = system_share.flatMap((share) => (share ? [share.median] : []))
    near(await numbersOf(page.locator('#overview tbody tr').nth(index)), [...found, tasks, workload.a.median, workload.b.median, ...shares], workload.name)
    const card = page.locator(`:nth-match(article.curve, ${index + 1})`)
    for (const [letter, side] of [['A', workload.a], ['B', workload.b]]) {
      const numbers = await numbersOf(card.locator(`tr[data-side="${letter}"]`))
      near(numbers.slice(0, 6), [side.boots, side.runs, side.intervals, side.units, side.median, side.mean], `${workload.name}, ${letter}`)
    }
    for (let order = 0; order < values[0].length; order++) {
      near(await numbersOf(card.locator(`tr[data-value="${order + 1}"]`)), [values[0][order], values[1][order]], `${workload.name}, value ${order + 1}`)
    }
    for (const { name, a, b, p_corrected } of counters) {
      const numbers = await numbersOf(card.locator(`tr[data-counter="${name}"]`))
      near(numbers, [a, b, ...(a === 0 ? [] : [b / a]), p_corrected], name)
    }
  }
})

test('a workload without an estimate has no mark', async () => {
  const { page } = await open('compared')
  const { workloads } = summaryOf('compared')
  const confounded = workloads.findIndex((workload) => workload.inconclusive === 'confounded-boots')
  assert.equal(await page.locator('.forest g[aria-label="dot"] path, .forest g[aria-label="dot"] circle').count(), workloads.length - 1)
  assert.ok((await page.locator('.forest text').allTextContents()).includes('inconclusive'))
  const card = page.locator(`:nth-match(article.curve, ${confounded + 1})`)
  assert.match(await card.locator('.verdict').innerText(), /inconclusive\s+1 and 1 boots cannot show/)
  assert.doesNotMatch(await card.locator('details').evaluate((details) => details.textContent), /ratio B\/A/)
})

test('equality has its margin, and an interval beyond it the detectable change', async () => {
  const { page } = await open('compared')
  assert.match(await page.locator(':nth-match(article.curve, 4) .verdict').innerText(), /equal within ±2 %\s+−0\.3 % \(−1\.2 … \+0\.6 %\)/)
  assert.match(await page.locator(':nth-match(article.curve, 6) .verdict').innerText(), /inconclusive\s+\+9\.9 % \(−3\.5 … \+27\.5 %\) reaches past ±2 %; 80 % power to detect a change of 25\.1 % or more/)
  assert.match(await page.locator('#untested').innerText(), /compile:small-c user: 1\.204 s → 1\.187 s/)
})

test('up and down move between workloads, Enter pins, Escape closes the box', async () => {
  const { page } = await open('compared')
  const [chart, tip] = [page.locator('.forest .chart'), page.locator('.forest .tip')]
  await chart.focus()
  await page.keyboard.press('Home')
  for (const part of ['zero_fill:base at 4', '−11.1 %', '−11.8 % … −10.4 %', 'level 99 %', '12 + 12 runs']) {
    assert.ok((await tip.innerText()).includes(part), `${part} in ${await tip.innerText()}`)
  }
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.match(await tip.innerText(), /tree_build:generated at 4[^]*−11\.5 %[^]*faster/, 'a shorter time is a change for the better')
  await page.keyboard.press('ArrowUp')
  assert.match(await tip.innerText(), /self_exec[^]*slower/)
  await page.keyboard.press('End')
  assert.match(await tip.innerText(), /fork_exit[^]*\+9\.9 %[^]*inconclusive/)
  await page.keyboard.press('ArrowUp')
  assert.match(await tip.innerText(), /map_churn[^]*inconclusive/)
  assert.doesNotMatch(await tip.innerText(), /%/)
  await page.keyboard.press('Enter')
  assert.match(await tip.innerText(), /pinned/)
  await page.keyboard.press('Escape')
  assert.equal(await tip.isVisible(), false)
})

test('arrow keys move through the values in ascending order', async () => {
  const { page } = await open('compared')
  const { values } = summaryOf('compared').workloads[0]
  const tip = page.locator(':nth-match(article.curve, 1) .distribution .tip')
  await page.locator(':nth-match(article.curve, 1) .distribution .chart').focus()
  await page.keyboard.press('Home')
  assert.match(await tip.innerText(), new RegExp(`A, run ${values[0].indexOf(Math.min(...values[0])) + 1}\\b`))
  await page.keyboard.press('End')
  assert.match(await tip.innerText(), new RegExp(`B, run ${values[1].indexOf(Math.max(...values[1])) + 1}\\b`))
  await page.locator(':nth-match(article.curve, 1) .order .chart').focus()
  await page.keyboard.press('Home')
  assert.match(await page.locator(':nth-match(article.curve, 1) .order .tip').innerText(), /A, run 1\b[^]*1\.135 M fault\/s/)
})

test('the pointer shows the value below it', async () => {
  const { page } = await open('compared')
  const chart = page.locator(':nth-match(article.curve, 1) .order')
  await chart.scrollIntoViewIfNeeded()
  const box = await chart.locator('g[aria-label="dot"]').last().locator('path, circle').nth(2).boundingBox()
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  assert.match(await chart.locator('.tip').innerText(), /B, run 3\b/)
})

test('the mean of all workloads is below them', async () => {
  const { page } = await open('compared-stored')
  assert.ok((await page.locator('.forest text').allTextContents()).includes('geometric mean'))
  assert.match(await page.locator('.overall').innerText(), /−4\.0 % \(−6\.6 … −1\.2 % at 95 %\), geometric mean over 2 workloads/)
})

test('the overview sorts by its exact numbers', async () => {
  const { page } = await open('compared')
  await page.locator('#overview thead th').nth(2).locator('button').click()
  const changes = await page.locator('#overview tbody tr td:nth-child(3) data').evaluateAll((all) => all.map((data) => Number(data.value)))
  assert.equal(changes.length, 5)
  assert.deepEqual(changes, changes.toSorted((a, b) => a - b))
})

test('the download is the comparison', async () => {
  const { page } = await open('compared')
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#download').click()])
  assert.equal(download.suggestedFilename(), 'faultline-comparison.json')
  assert.deepEqual(JSON.parse(readFileSync(await download.path(), 'utf8')), summaryOf('compared'))
})

test('printing unfolds all details', async () => {
  const { page } = await open('compared')
  await page.evaluate(() => addEventListener('beforeprint', () => (window.openAtPrint = document.querySelectorAll('details[open]').length)))
  await page.pdf()
  assert.equal(await page.evaluate(() => window.openAtPrint), summaryOf('compared').workloads.length)
  assert.equal(await page.locator('details[open]').count(), 0)
})

test('without JavaScript all tables are visible', async () => {
  const { page } = await open('compared', { javaScriptEnabled: false })
  assert.equal(await page.locator('#overview tbody tr').count(), summaryOf('compared').workloads.length)
  assert.ok(await page.locator('.forest noscript p').isVisible())
  assert.equal(await page.locator('#download').isVisible(), false)
  await page.locator(':nth-match(article.curve, 1) summary').click()
  assert.ok(await page.locator(':nth-match(article.curve, 1) tr[data-value="1"]').isVisible())
})

test('text from outside remains text', async () => {
  const { page } = await open('compared-hostile')
  await page.locator('.forest .chart').focus()
  await page.keyboard.press('Home')
  assert.ok((await page.locator('.forest .tip').innerText()).includes('</script>'))
  assert.equal(await page.locator('img').count(), 0)
  assert.equal(await page.locator('script').count(), 2)
  assert.notEqual(await page.title(), 'owned')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.match(await page.locator('.forest .tip').innerText(), /−100 % … −1\.0 %/, 'an interval without a bound of its ratio')
})

test('a comparison without common workloads', async () => {
  const { page } = await open('compared-empty')
  assert.match(await page.locator('#overview').innerText(), /nothing in common/)
  assert.match(await page.locator('#unmatched').innerText(), /on the first side only/)
  assert.match(await page.locator('.standing').innerText(), /Before the first of 9 looks/)
  assert.equal(await page.locator('.chart').count(), 0)
})
