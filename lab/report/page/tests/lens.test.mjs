// A run under the lens: charts, the map of lines and CPUs by keyboard and pointer, and tables.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

const caseOf = (name) => summaryOf(name).lens.curves[0]
/** The point with shown lines, the last with any, and those lines: not those of 0.0 %. */
const shownOf = (curve) => {
  const point = curve.points.findLast((point) => point.lines.length > 0)
  return { ...point, lines: point.lines.filter(({ share }) => share >= 0.0005) }
}

test('every case has a curve, a map and tables', async () => {
  const { page } = await open('lens')
  const { curves } = summaryOf('lens').lens
  assert.equal(await page.locator('article.curve').count(), curves.length)
  assert.equal(await page.locator('#overview tbody tr').count(), curves.length)
  assert.equal(await page.locator(':nth-match(article.curve, 1) .scaling .canvas svg').count(), 1)
  assert.equal(await page.locator(':nth-match(article.curve, 3) .chart').count(), 0, 'no figure, no chart')
  const shown = shownOf(curves[0])
  const cells = page.locator(':nth-match(article.curve, 1) .map g[aria-label="cell"]')
  assert.equal(await cells.first().locator('rect').count(), shown.lines.length * shown.cpus)
  assert.equal(await cells.last().locator('rect').count(), shown.lines.flatMap((line) => line.by_cpu.filter((part) => part.transfers > 0)).length)
})

test('the tables have the numbers of the JSON', async () => {
  const { page } = await open('lens')
  const curve = caseOf('lens')
  for (const point of curve.points.filter((point) => point.transfers)) {
    const row = page.locator(`:nth-match(article.curve, 1) tr[data-cpus="${point.cpus}"]`)
    assert.equal(await row.locator('data').first().evaluate((data) => Number(data.value)), point.transfers.median)
  }
  const shown = shownOf(curve)
  for (const line of shown.lines) {
    const row = page.locator(`:nth-match(article.curve, 1) tr[data-line="${line.address}"]`)
    const numbers = await row.locator('data').evaluateAll((all) => all.map((data) => Number(data.value)))
    assert.deepEqual(numbers, [line.transfers, line.share, line.read_share, line.by_cpu.length].filter((number) => number !== null))
  }
  const map = await page.locator(':nth-match(article.curve, 1) details table').last().locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('data')].map((data) => Number(data.value))))
  const expected = shown.lines.map((line) => Array.from({ length: shown.cpus }, (_, cpu) => line.by_cpu.find((part) => part.cpu === cpu)?.transfers ?? 0))
  assert.deepEqual(map, expected, 'the map as numbers')
})

test('arrow keys move through the map by lines and CPUs', async () => {
  const { page } = await open('lens')
  const map = page.locator(':nth-match(article.curve, 1) .map')
  const tip = page.locator(':nth-match(article.curve, 1) .map .tip')
  await page.locator(':nth-match(article.curve, 1) .scaling .save button').last().focus()
  await page.keyboard.press('Tab')
  assert.ok(await map.evaluate((element) => element === document.activeElement))
  const shown = shownOf(caseOf('lens'))
  assert.match(await tip.innerText(), /^CPU 0\b/)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowDown')
  const text = await tip.innerText()
  const transfers = shown.lines[1].by_cpu.find((part) => part.cpu === 1).transfers
  for (const part of ['CPU 1', shown.lines[1].name, shown.lines[1].address, `${transfers} transfers`]) assert.ok(text.includes(part), `${part} in ${text}`)
  await page.keyboard.press('ArrowUp')
  assert.ok((await tip.innerText()).includes(shown.lines[0].name))
  await page.keyboard.press('ArrowUp')
  assert.ok((await tip.innerText()).includes(shown.lines[0].name), 'the first line is the end')
  await page.keyboard.press('End')
  assert.ok((await tip.innerText()).includes(shown.lines.at(-1).name))
  await page.keyboard.press('Enter')
  assert.match(await tip.innerText(), /pinned/)
  await page.keyboard.press('Escape')
  assert.equal(await tip.isVisible(), false)
})

test('the legend of the map has colours with numbers of transfers', async () => {
  for (const width of [1280, 390]) {
    const { page, close } = await open('lens', { width })
    const map = page.locator(':nth-match(article.curve, 1) .map')
    const shown = shownOf(caseOf('lens'))
    const most = Math.max(...shown.lines.flatMap((line) => line.by_cpu.map((part) => part.transfers)))
    const texts = await map.locator('.legend text').allTextContents()
    assert.deepEqual(texts, ['transfers to one CPU', '0', '900', '3.6 k', '8.1 k', '14.4 k'])
    assert.equal(most, 14400)
    const strongest = await map.locator('.legend rect').last().getAttribute('fill-opacity')
    const strengths = await map.locator('g[aria-label="cell"]').last().locator('rect').evaluateAll((all) => all.map((field) => field.getAttribute('fill-opacity')))
    assert.equal(Math.max(...strengths.map(Number)), Number(strongest), 'the strongest field has the last colour of the legend')
    const [legend, canvas] = [await map.locator('.legend').boundingBox(), await map.locator('svg').first().boundingBox()]
    const fields = await map.locator('g[aria-label="cell"]').first().boundingBox()
    assert.ok(legend.x + legend.width <= canvas.x + canvas.width && legend.y >= canvas.y && legend.y + legend.height < fields.y, `${width} pixels wide`)
    await close()
  }
})

test('the pointer shows the field below it', async () => {
  const { page } = await open('lens')
  const cells = page.locator(':nth-match(article.curve, 1) .map g[aria-label="cell"]').first().locator('rect')
  const shown = shownOf(caseOf('lens'))
  await page.locator(':nth-match(article.curve, 1) .map').scrollIntoViewIfNeeded()
  const box = await cells.nth(2 * shown.cpus + 3).boundingBox()
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  const text = await page.locator(':nth-match(article.curve, 1) .map .tip').innerText()
  assert.match(text, /^CPU 3\b/)
  assert.ok(text.includes(shown.lines[2].name), text)
})

test('the box of the curve has the figures of the point', async () => {
  const { page } = await open('lens')
  const tip = page.locator(':nth-match(article.curve, 1) .scaling .tip')
  await page.locator(':nth-match(article.curve, 1) .scaling .chart').focus()
  await page.keyboard.press('End')
  const text = await tip.innerText()
  for (const part of ['32 CPUs', '9.700 per fault', '12.5 %', '2.608 k per fault']) assert.ok(text.includes(part), `${part} in ${text}`)
  assert.ok((await page.locator(':nth-match(article.curve, 1) .scaling text').allTextContents()).includes('✕ no figure'))
})

test('charts and map have labels with their content', async () => {
  const { page } = await open('lens')
  const label = (selector) => page.locator(selector).getAttribute('aria-label')
  assert.match(await label(':nth-match(article.curve, 1) .scaling .chart'), /fault_existing:shared.*grows with CPUs: 4\.800 transfers per fault at 2 CPUs, 9\.700 at 32/)
  assert.match(await label(':nth-match(article.curve, 1) .map'), /Map of fault_existing:shared at 32 CPUs/)
})

test('text from outside remains text', async () => {
  const { page } = await open('lens-hostile')
  await page.locator(':nth-match(article.curve, 1) .map').focus()
  await page.keyboard.press('Home')
  assert.ok((await page.locator(':nth-match(article.curve, 1) .map .tip').innerText()).includes('</script>'))
  assert.equal(await page.locator('img').count(), 0)
  assert.notEqual(await page.title(), 'owned')
})

test('every type has a layout with lines, members and figures', async () => {
  const { page } = await open('lens')
  const { types } = shownOf(caseOf('lens'))
  const layouts = page.locator(':nth-match(article.curve, 1) details.layout')
  assert.equal(await layouts.count(), types.types.length)
  assert.deepEqual(await layouts.evaluateAll((all) => all.map((layout) => layout.open)), types.types.map((_, index) => index === 0))
  await layouts.nth(1).locator('summary').click()
  for (const [index, type] of types.types.entries()) {
    const layout = layouts.nth(index)
    const hot = type.lines.filter((line) => line.moved.transfers > 0)
    assert.equal(await layout.locator('tr.boundary:not(.cold)').count(), hot.length)
    for (const row of hot.flatMap((line) => line.rows).filter((row) => row.moved.transfers > 0 && row.path)) {
      const shown = layout.locator(`tr[data-member="${row.path}"][data-offset="${row.offset}"]`)
      assert.ok(await shown.isVisible(), row.path)
      const numbers = await shown.locator('data').evaluateAll((all) => all.map((data) => Number(data.value)))
      assert.deepEqual(numbers, [row.moved.reads, row.moved.writes, row.used_by_others].filter((number) => number > 0))
      for (const place of row.code) assert.ok((await shown.innerText()).includes(place.name), place.name)
    }
  }
  const heat = await layouts.first().locator('td.heat span').evaluateAll((all) => all.map((span) => Number(span.style.opacity)))
  assert.deepEqual([Math.max(...heat), heat.length], [1, 4], 'the hottest member has the full colour')
  assert.match(await layouts.first().innerText(), /line 0: less than 0\.1 % of the transfers each/)
})

test('the members of a layout are visible on narrow and dark screens', async () => {
  for (const [width, scheme] of [[390, 'light'], [390, 'dark'], [1280, 'dark']]) {
    const { page, close } = await open('lens', { width, scheme })
    const layout = page.locator(':nth-match(article.curve, 1) details.layout').first()
    const row = layout.locator('tr[data-member="mmap_lock.count.counter"]')
    await row.scrollIntoViewIfNeeded()
    const [member, region] = [await row.locator('th').boundingBox(), await layout.locator('.scroll').boundingBox()]
    assert.ok(member.x >= region.x && member.x + member.width <= region.x + region.width, `${width} ${scheme}`)
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${width} ${scheme}`)
    const [swatch, ground] = await row.locator('td.heat span').evaluate((span) => [span, document.body].map((element) => getComputedStyle(element).backgroundColor))
    assert.notEqual(swatch, ground)
    await close()
  }
})

test('without JavaScript the tables are visible', async () => {
  const { page } = await open('lens', { javaScriptEnabled: false })
  assert.ok(await page.locator(':nth-match(article.curve, 1) .map noscript p').isVisible())
  assert.ok(await page.locator(':nth-match(article.curve, 1) tr[data-line]').first().isVisible())
  await page.locator(':nth-match(article.curve, 1) > details > summary').click()
  assert.ok(await page.locator(':nth-match(article.curve, 1) details table').last().isVisible())
})

test('a run without plans', async () => {
  const { page } = await open('lens-empty')
  assert.match(await page.locator('#overview').innerText(), /There are no figures yet/)
})

test('the flame graph shows callers by keyboard and pointer', async () => {
  const { page } = await open('lens')
  const { callers } = shownOf(caseOf('lens'))
  const flame = page.locator(':nth-match(article.curve, 1) .flame')
  const tip = flame.locator('.tip')
  const boxes = flame.locator('g.box')
  assert.equal(await boxes.count(), 18, 'functions with the same callers are one box')
  const widthOf = async (name) => Number(await boxes.filter({ hasText: name }).first().locator('rect').getAttribute('width'))
  assert.ok(Math.abs((await widthOf('asm_exc_page_fault')) / (await widthOf('all')) - 1500 / callers.samples) < 0.01)
  assert.equal(await flame.locator('g.unknown rect[stroke-dasharray]').count(), 2, 'what is not known can be told without colour')
  await page.locator(':nth-match(article.curve, 1) .heat .save button').last().focus()
  await page.keyboard.press('Tab')
  assert.match(await tip.innerText(), /^all\b/)
  await page.keyboard.press('ArrowUp')
  for (const part of ['asm_exc_page_fault', '75.0 % of the transfers, 1500 samples']) assert.ok((await tip.innerText()).includes(part))
  await page.keyboard.press('ArrowRight')
  assert.match(await tip.innerText(), /^do_exit\b/)
  await page.keyboard.press('End')
  assert.ok((await tip.innerText()).includes('itself'))
  await page.keyboard.press('Enter')
  assert.match(await tip.innerText(), /pinned/)
  await page.keyboard.press('Escape')
  assert.equal(await tip.isVisible(), false)
  const place = await boxes.filter({ hasText: 'do_exit' }).first().locator('rect').boundingBox()
  await page.mouse.move(place.x + 4, place.y + 4)
  assert.match(await tip.innerText(), /^do_exit\b/)
  const rows = await page.locator(':nth-match(article.curve, 1) table', { hasText: 'function and its callers' }).locator('tbody tr').count()
  assert.equal(rows, callers.lines.flatMap((line) => line.chains).length)
})
