// Charts: keyboard, pointer, and saving as SVG and CSV.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

const focused = (page) => page.evaluate(() => document.activeElement.outerHTML.slice(0, 120))

test('the skip link is first, visible with focus, and leads to the curves', async () => {
  const { page } = await open('typical')
  await page.keyboard.press('Tab')
  assert.match(await focused(page), /class="skip"/)
  assert.ok((await page.locator('.skip').boundingBox()).x >= 0)
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'curves')
})

test('Tab reaches controls and charts, each with a visible focus', async () => {
  const { page } = await open('typical')
  const seen = []
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press('Tab')
    seen.push(await page.evaluate(() => {
      const active = document.activeElement
      const shown = active.matches('.choice input') ? active.nextElementSibling : active
      return { what: active.className || active.tagName, name: active.name ?? '', outline: getComputedStyle(shown).outlineStyle }
    }))
  }
  for (const wanted of ['view', 'axes']) assert.ok(seen.some(({ name }) => name === wanted), wanted)
  assert.ok(seen.some(({ what }) => what === 'SELECT'))
  assert.ok(seen.filter(({ what }) => what === 'chart').length >= 2)
  assert.deepEqual(seen.filter(({ what, outline }) => outline === 'none' && what !== 'BODY'), [], 'the round ends at the page itself')
})

test('arrow keys move between points, Enter pins, Escape closes', async () => {
  const { page } = await open('typical')
  const chart = page.locator(':nth-match(article.curve, 1) .chart')
  const tip = page.locator(':nth-match(article.curve, 1) .tip')
  await page.locator(':nth-match(article.curve, 1)').evaluate((card) => card.scrollIntoView())
  await page.locator('.filter select').focus()
  await page.keyboard.press('Tab')
  assert.ok(await chart.evaluate((element) => element === document.activeElement))
  assert.match(await tip.innerText(), /^8 tasks/)
  await page.keyboard.press('ArrowLeft')
  const text = await tip.innerText()
  for (const part of ['4 tasks', '22.11 k exec/s', '21.88 … 22.33 k exec/s, coverage 96.9 %', '6 repeats', '3.870', '96.7 %', '81.2 %']) {
    assert.ok(text.includes(part), `${part} in ${text}`)
  }
  await page.keyboard.press('Home')
  assert.match(await tip.innerText(), /^1 task\b/)
  await page.keyboard.press('ArrowLeft')
  assert.match(await tip.innerText(), /^1 task\b/)
  await page.keyboard.press('Enter')
  assert.match(await tip.innerText(), /pinned/)
  await page.keyboard.press('Tab')
  assert.ok(await tip.isVisible(), 'a pinned box stays when the focus leaves')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Escape')
  assert.equal(await tip.isVisible(), false)
})

test('charts are labelled with curve and verdict', async () => {
  const { page } = await open('typical')
  const label = await page.locator(':nth-match(article.curve, 4) .chart').getAttribute('aria-label')
  assert.match(label, /zero_fill:base, threads: does not scale: efficiency 10\.1 %/)
})

test('the pointer shows the nearest point and a click pins it', async () => {
  const { page } = await open('typical')
  const card = page.locator(':nth-match(article.curve, 8)')
  await card.scrollIntoViewIfNeeded()
  const points = card.locator('.canvas g[aria-label="dot"]').last().locator('circle')
  const box = await points.nth(1).boundingBox()
  await page.mouse.move(box.x + 12, box.y + 60)
  const tip = card.locator('.tip')
  assert.match(await tip.innerText(), /^2 tasks/)
  assert.match(await tip.innerText(), /mmap: Cannot allocate memory \(2×\)/)
  await page.mouse.down()
  await page.mouse.up()
  await page.mouse.move(5, 5)
  assert.match(await tip.innerText(), /pinned/)
})

/** The file of a save button: name and text. */
async function saved(page, figure, format) {
  const button = page.locator(figure).getByRole('button', { name: `Save as ${format}` })
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') }
}

/** Rows of a CSV without quoted fields. */
const rowsOf = (text) => text.trimEnd().split('\n').map((line) => line.split(','))

/** Runs in the page: the content of an SVG file, or its XML error. */
function read(text) {
  const file = new DOMParser().parseFromString(text, 'image/svg+xml')
  const root = file.documentElement
  return {
    wrong: file.querySelector('parsererror')?.textContent,
    root: root.localName,
    titles: [...root.children].filter(({ localName }) => localName === 'title').map(({ textContent }) => textContent),
    texts: [...root.querySelectorAll('text')].map(({ textContent }) => textContent),
    dots: root.querySelectorAll('[aria-label="dot"] circle').length,
    ground: root.querySelector('rect').getAttribute('fill'),
    ink: root.getAttribute('color'),
    scripts: root.querySelectorAll('script, style, foreignObject, image, [href], [class]').length,
  }
}

for (const scheme of ['light', 'dark']) {
  test(`a drawing needs nothing else and has the colours of the light mode, ${scheme}`, async () => {
    const { page } = await open('typical', { scheme })
    const { name, text } = await saved(page, ':nth-match(article.curve, 4) figure.scaling', 'SVG')
    assert.equal(name, 'faultline-zero_fill-base-threads.svg')
    const svg = await page.evaluate(read, text)
    assert.deepEqual([svg.wrong, svg.root, svg.titles], [undefined, 'svg', ['zero_fill:base, threads']])
    assert.ok(svg.texts.includes('ideal') && svg.texts.includes('zero_fill:base, threads') && svg.texts.includes('fault/s, higher is better'), String(svg.texts))
    assert.equal(svg.dots, 4 + 4 * 6)
    assert.deepEqual([svg.ground, svg.ink], ['#ffffff', 'rgb(27, 31, 36)'])
    assert.equal(svg.scripts, 0)
    assert.doesNotMatch(text, /var\(|inherit|currentColor/)
    assert.equal(await page.locator('.light').count(), 0, 'nothing of it is left in the page')
  })
}

test('a saved drawing opens as a file', async () => {
  const { page } = await open('lens')
  const { text } = await saved(page, ':nth-match(article.curve, 1) figure.heat', 'SVG')
  await page.goto(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`)
  const boxes = await page.evaluate(() => [document.documentElement, document.querySelector('.legend text, text')].map((element) => element.getBoundingClientRect().width))
  assert.ok(boxes.every((width) => width > 50), String(boxes))
  const field = await page.evaluate(() => getComputedStyle(document.querySelectorAll('[aria-label="cell"]')[1].firstElementChild).fill)
  assert.equal(field, 'rgb(10, 88, 168)')
})

test('a saved drawing has the chosen view', async () => {
  const { page } = await open('typical', { hash: '#view=efficiency' })
  const { text } = await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'SVG')
  assert.ok((await page.evaluate(read, text)).texts.includes('100 %'))
})

test('the CSV of a curve has every repeat with its point', async () => {
  const { page } = await open('typical')
  const curve = summaryOf('typical').curves[3]
  const { name, text } = await saved(page, ':nth-match(article.curve, 4) figure.scaling', 'CSV')
  assert.equal(name, 'faultline-zero_fill-base-threads.csv')
  const [head, ...rows] = rowsOf(text)
  assert.deepEqual(head.slice(0, 8), ['tasks', 'repeat', 'rate (fault/s)', 'speed-up (ratio)', 'efficiency (share)', 'median of rate (fault/s)', 'low of rate (fault/s)', 'high of rate (fault/s)'])
  assert.ok(rows.every((row) => row.length === head.length))
  const samples = curve.points.flatMap(({ tasks, repeats }) => repeats.map((value, index) => [tasks, index + 1, value]))
  assert.deepEqual(rows.map((row) => row.slice(0, 3).map(Number)), samples)
  const last = rows.at(-1).map(Number)
  const point = curve.points.at(-1)
  const ratio = point.repeats.at(-1) / curve.points[0].value.median
  assert.deepEqual(last.slice(3, 5), [ratio, (ratio * curve.points[0].tasks) / point.tasks])
  assert.deepEqual(last.slice(5, 8), [point.value.median, point.value.low, point.value.high])
  assert.deepEqual(last.slice(11, 14), [point.efficiency.median, point.efficiency.low, point.efficiency.high])
  assert.equal(last[head.indexOf('machine idle (share of all CPUs’ time)')], point.shares.idle)
})

test('the bars of CPU time are saved', async () => {
  const { page } = await open('typical')
  const { points } = summaryOf('typical').curves[0]
  const { name, text } = await saved(page, ':nth-match(article.curve, 1) figure.shares', 'CSV')
  assert.equal(name, 'faultline-self_exec-static-distinct-processes-time-of-all-CPUs.csv')
  assert.deepEqual(rowsOf(text).slice(1).map((row) => row.map(Number)), points.map(({ tasks, shares: { user, system, idle, steal } }) => [tasks, user, system, idle, steal]))
  const svg = await page.evaluate(read, (await saved(page, ':nth-match(article.curve, 1) figure.shares', 'SVG')).text)
  assert.equal(svg.wrong, undefined)
  for (const words of ['user', 'steal', '87.5 %']) assert.ok(svg.texts.includes(words), `${words} in ${svg.texts}`)
})

test('the CSV row of a point without a figure has the reason', async () => {
  const { page } = await open('typical')
  const { text } = await saved(page, ':nth-match(article.curve, 8) figure.scaling', 'CSV')
  const row = rowsOf(text).find(([tasks]) => tasks === '8')
  assert.deepEqual(row.slice(1, 5), ['', '', '', ''])
  assert.match(row.at(-1), /no end within its limit of 4\.0 s; killed; ended by signal 11: line1 line2/)
})

test('the CSV of a map has all fields, that of a lens curve all repeats', async () => {
  const { page } = await open('lens')
  const curve = summaryOf('lens').lens.curves[0]
  const shown = curve.points.findLast((point) => point.lines.length > 0)
  const map = rowsOf((await saved(page, ':nth-match(article.curve, 1) figure.heat', 'CSV')).text)
  assert.deepEqual(map[0], ['line', 'address', 'CPU', 'transfers (count)', 'transfers (per fault)'])
  // Lines of 0.0 % of the transfers are not shown.
  assert.equal(map.length - 1, shown.lines.filter(({ share }) => share >= 0.0005).length * shown.cpus)
  const [line, , cpu, transfers] = map[1 + shown.cpus + 2]
  assert.deepEqual([line, cpu, Number(transfers)], ['counters.hits', '2', shown.lines[1].by_cpu.find((part) => part.cpu === 2).transfers])
  const growth = rowsOf((await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'CSV')).text)
  assert.deepEqual(growth.slice(1).filter((row) => row[1]).map((row) => Number(row[2])), curve.points.flatMap((point) => point.repeats))
})

test('the CSV of a comparison has ratios and values', async () => {
  const { page } = await open('compared')
  const { workloads } = summaryOf('compared')
  const ratios = rowsOf((await saved(page, 'figure.forest', 'CSV')).text)
  assert.equal(ratios.length - 1, workloads.length)
  // A change of cost, so that worse is positive: the inverse of the ratio of two rates.
  const inverse = ['value', 'high', 'low'].map((end) => 1 / workloads[0].ratio[end])
  ratios[1].slice(2, 5).forEach((ratio, at) => assert.ok(Math.abs(Number(ratio) - inverse[at]) < 1e-9, ratio))
  const values = rowsOf((await saved(page, ':nth-match(article.curve, 1) figure.order', 'CSV')).text)
  assert.deepEqual(values[0], ['side', 'in order', 'value (fault/s)'])
  assert.deepEqual(values.slice(1).map((row) => [row[0], Number(row[2])]), workloads[0].values.flatMap((side, index) => side.map((value) => ['AB'[index], value])))
})

test('text from outside remains text in saved files', async () => {
  const { page } = await open('hostile')
  const { text } = await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'SVG')
  const svg = await page.evaluate(read, text)
  assert.deepEqual([svg.wrong, svg.scripts], [undefined, 0])
  const { text: data } = await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'CSV')
  assert.match(data.split('\n')[0], /"rate \(op\/s<\/script><img src=x onerror=""document/)
})

test('every chart has both buttons, reached by Tab', async () => {
  for (const name of ['typical', 'lens', 'compared']) {
    const { page, close } = await open(name)
    for (const chart of await page.locator('.chart').all()) {
      await chart.focus()
      for (const format of ['SVG', 'CSV']) {
        await page.keyboard.press('Tab')
        assert.ok(await chart.evaluate((element, format) => document.activeElement.textContent === format && document.activeElement.closest('figure') === element.closest('figure'), format))
      }
    }
    await close()
  }
})
