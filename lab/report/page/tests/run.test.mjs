// Pages of runs: they open from files, have the numbers of their JSON, and cope with missing and
// hostile data.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { FIXTURES, open, SCHEMES, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

for (const name of FIXTURES) {
  for (const scheme of SCHEMES) {
    test(`${name} opens offline without a complaint, ${scheme}`, async () => {
      const { page } = await open(name, { scheme })
      assert.match(await page.title(), /^(run quick|lens kernel|lens program)/)
      assert.notEqual((await page.locator('#answer').innerText()).trim(), '')
    })
  }
}

test('the policy prevents requests', async () => {
  const { page } = await open('typical', { expected: '127.0.0.1' })
  const refused = await page.evaluate(async () => {
    const violation = new Promise((resolve) => addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective)))
    await fetch('http://127.0.0.1:9/').catch(() => {})
    return violation
  })
  assert.equal(refused, 'connect-src')
})

test('without JavaScript all tables are visible, and no controls', async () => {
  const { page } = await open('typical', { javaScriptEnabled: false })
  const curves = summaryOf('typical').curves
  assert.equal(await page.locator('#overview tbody tr').count(), curves.length)
  assert.equal(await page.locator('article.curve').count(), curves.length)
  assert.equal(await page.locator('#toolbar').isVisible(), false)
  assert.equal(await page.locator('#download').isVisible(), false)
  assert.ok(await page.locator('.chart noscript p').first().isVisible())
  await page.locator('article.curve summary').first().click()
  assert.ok(await page.locator('article.curve table').first().isVisible())
})

/** The numbers of a row of the table of points. */
function expected(curve, point) {
  const base = curve.base_tasks === point.tasks
  const interval = (estimate) => (estimate ? [estimate.low, estimate.high] : [])
  const all = (estimate) => (estimate ? [estimate.median, ...interval(estimate)] : [])
  const shares = point.shares ? [point.shares.user, point.shares.system, point.shares.idle, point.shares.steal] : []
  const value = point.value ? [...all(point.value), point.value.coverage] : []
  const scaling = base && point.speedup ? [1] : [...all(point.speedup), ...all(point.efficiency)]
  return [...value, ...scaling, ...all(point.system_share), ...shares, ...(point.value ? [point.value.n] : [])]
}

for (const name of ['typical', 'one-cpu', 'all-failed', 'hostile']) {
  test(`the tables of ${name} say what its JSON says`, async () => {
    const { page } = await open(name)
    for (const [index, curve] of summaryOf(name).curves.entries()) {
      for (const point of curve.points) {
        const row = page.locator(`:nth-match(article.curve, ${index + 1}) tr[data-tasks="${point.tasks}"]`)
        const numbers = await row.locator('data').evaluateAll((all) => all.map((data) => Number(data.value)))
        assert.deepEqual(numbers, expected(curve, point), `${curve.workload}:${curve.variant} at ${point.tasks}`)
        if (point.failures.length > 0) assert.match(await row.locator('.words').textContent(), /failed|no figure/)
      }
    }
  })
}

test('the embedded data are the summary', async () => {
  const { page } = await open('hostile')
  assert.deepEqual(await page.evaluate(() => JSON.parse(document.getElementById('data').textContent)), summaryOf('hostile'))
})

test('the download is the summary', async () => {
  const { page } = await open('typical')
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#download').click()])
  assert.equal(download.suggestedFilename(), 'faultline-run-12.json')
  assert.deepEqual(JSON.parse(readFileSync(await download.path(), 'utf8')), summaryOf('typical'))
})

test('facts have names, units and headings', async () => {
  const { page } = await open('typical')
  const facts = page.locator('#facts')
  assert.deepEqual(await facts.locator('h3').allTextContents(), ['CPUs', 'Caches', 'Kernel', 'Load and limits', 'os'])
  const size = facts.locator('dt', { hasText: 'L2 cache size' })
  assert.equal(await size.locator('+ dd').innerText(), '1 MiB')
  assert.equal(await size.getAttribute('title'), 'cache.l2.size_bytes = 1048576')
  assert.doesNotMatch(await facts.innerText(), /[a-z]\.[a-z]+_/, 'no raw key')
})

test('facts that differ between machines have names and keys', async () => {
  const { page } = await open('compared')
  const rows = page.locator('#facts tbody tr')
  for (const [index, { key }] of summaryOf('compared').facts.entries()) {
    assert.equal(await rows.nth(index).locator('th code').innerText(), key)
    assert.notEqual((await rows.nth(index).locator('th').innerText()).split('\n')[0], key)
  }
})

test('a label with markup remains text', async () => {
  const { page } = await open('hostile')
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
})

test('a run on one CPU states that scaling is unknown', async () => {
  const { page } = await open('one-cpu', { hash: '#log=1' })
  assert.match(await page.locator('#warnings').innerText(), /one-cpu/)
  assert.match(await page.locator(':nth-match(article.curve, 1) .verdict').innerText(), /not measured\s+fewer than two numbers of tasks/)
  assert.equal(await page.locator(':nth-match(article.curve, 1) .canvas svg').count(), 1)
  assert.match(await page.locator('.standing').innerText(), /2 skipped because the time was used up, 6 not run yet/)
})

test('a run with failures only has reasons instead of charts', async () => {
  const { page } = await open('all-failed')
  assert.equal(await page.locator('.chart').count(), 0)
  assert.match(await page.locator(':nth-match(article.curve, 1)').innerText(), /every attempt failed[^]*8 tasks: no figure: exec: Permission denied/)
})

test('a point without a figure is marked in the chart', async () => {
  const { page } = await open('typical')
  assert.ok((await page.locator(':nth-match(article.curve, 8) .canvas text').allTextContents()).includes('✕ failed'))
})

test('a run without results', async () => {
  const { page } = await open('empty')
  assert.match(await page.locator('#overview').innerText(), /There are no figures yet/)
  assert.match(await page.locator('.standing').innerText(), /40 not run yet/)
})

const boxes = (page) => page.locator('article.curve').evaluateAll((all) => all.map((card) => card.getBoundingClientRect()).map(({ top, left, width }) => ({ top, left, width })))

test('cards of two points are four in a row on a wide screen, one on a narrow screen', async () => {
  for (const [width, columns] of [[1280, 4], [390, 1]]) {
    const { page, close } = await open('two-points', { width })
    const [first, ...others] = await boxes(page)
    assert.equal(1 + others.filter(({ top }) => top === first.top).length, columns)
    await close()
  }
})

test('a page of two-point curves is short', async () => {
  const { page } = await open('two-points')
  const { height } = await page.locator('#curves').boundingBox()
  const { length } = summaryOf('two-points').curves
  assert.ok(height < 180 * length, `${height} pixels for ${length} curves`)
})

test('curves with more points have one row each', async () => {
  const { page } = await open('typical')
  const all = await boxes(page)
  assert.equal(new Set(all.map(({ top }) => top)).size, all.length)
  assert.equal(await page.locator('.common').count(), 0)
})

test('small cards share their captions', async () => {
  const { page } = await open('two-points')
  assert.match(await page.locator('.common').innerText(), /Medians with intervals[^]*CPU time of the whole machine[^]*user\s+system\s+idle\s+steal/)
  assert.equal(await page.locator('article.curve figcaption:visible').count(), 0)
})

test('a small card grows while its details are open', async () => {
  const { page } = await open('two-points')
  const card = page.locator('article.curve').nth(2)
  const small = await card.boundingBox()
  await card.locator('summary').click()
  await page.waitForFunction(() => document.querySelectorAll('article.curve')[2].querySelector('svg').getAttribute('height') === '300')
  const large = await card.boundingBox()
  assert.ok(large.width > 3 * small.width)
  assert.ok(await card.locator('summary').evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  }), 'what was clicked stays in sight')
  await card.locator('summary').click()
  await page.waitForFunction(() => document.querySelectorAll('article.curve')[2].querySelector('svg').getAttribute('height') === '160')
  assert.deepEqual((await card.boundingBox()).width, small.width)
})

test('labels of a small chart do not overlap', async () => {
  const { page } = await open('two-points')
  const touching = await page.locator('article.curve svg').evaluateAll((all) => all.flatMap((svg) => {
    const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent !== 'ideal').map((text) => [text.textContent, text.getBoundingClientRect()])
    return texts.flatMap(([a, one], index) => texts.slice(index + 1)
      .filter(([, other]) => one.left < other.right - 1 && other.left < one.right - 1 && one.top + 3 < other.bottom - 3 && other.top + 3 < one.bottom - 3)
      .map(([b]) => `${a} and ${b}`))
  }))
  assert.deepEqual(touching, [])
})

test('the box of a point stays within the page', async () => {
  const { page } = await open('two-points')
  for (const index of [0, 3]) {
    await page.locator('article.curve .chart').nth(index).focus()
    await page.keyboard.press('End')
    const tip = await page.locator('article.curve .tip').nth(index).boundingBox()
    assert.ok(tip.x >= 0 && tip.x + tip.width <= 1280)
  }
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
})
