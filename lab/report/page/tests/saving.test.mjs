// Every chart is saved as an SVG that needs nothing else, and its data as CSV.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

/** What a button of a chart saves: the file's name and its text. */
async function saved(page, figure, format) {
  const button = page.locator(figure).getByRole('button', { name: `Save as ${format}` })
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') }
}

/** Rows of a CSV without quoted fields. */
const rowsOf = (text) => text.trimEnd().split('\n').map((line) => line.split(','))

/** Runs in the page: what an SVG file says, or what is wrong with it as XML. */
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
    const { page, problems, close } = await open('typical', { scheme })
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
    assert.deepEqual(problems, [])
    await close()
  })
}

test('a drawing opens as a file of its own', async () => {
  const { page, close } = await open('lens')
  const { text } = await saved(page, ':nth-match(article.curve, 1) figure.heat', 'SVG')
  await page.goto(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`)
  const boxes = await page.evaluate(() => [document.documentElement, document.querySelector('.legend text, text')].map((element) => element.getBoundingClientRect().width))
  assert.ok(boxes.every((width) => width > 50), String(boxes))
  const field = await page.evaluate(() => getComputedStyle(document.querySelectorAll('[aria-label="cell"]')[1].firstElementChild).fill)
  assert.equal(field, 'rgb(10, 88, 168)')
  await close()
})

test('the drawing is that of the chosen view', async () => {
  const { page, close } = await open('typical', { hash: '#view=efficiency' })
  const { text } = await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'SVG')
  assert.ok((await page.evaluate(read, text)).texts.includes('100 %'))
  await close()
})

test('the data of a curve are every repeat with its point', async () => {
  const { page, close } = await open('typical')
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
  await close()
})

test('the bars of time are saved too', async () => {
  const { page, close } = await open('typical')
  const { points } = summaryOf('typical').curves[0]
  const { name, text } = await saved(page, ':nth-match(article.curve, 1) figure.shares', 'CSV')
  assert.equal(name, 'faultline-self_exec-static-distinct-processes-time-of-all-CPUs.csv')
  assert.deepEqual(rowsOf(text).slice(1).map((row) => row.map(Number)), points.map(({ tasks, shares: { user, system, idle, steal } }) => [tasks, user, system, idle, steal]))
  const svg = await page.evaluate(read, (await saved(page, ':nth-match(article.curve, 1) figure.shares', 'SVG')).text)
  assert.equal(svg.wrong, undefined)
  for (const words of ['user', 'steal', '87.5 %']) assert.ok(svg.texts.includes(words), `${words} in ${svg.texts}`)
  await close()
})

test('a point without a figure has a row that says why', async () => {
  const { page, close } = await open('typical')
  const { text } = await saved(page, ':nth-match(article.curve, 8) figure.scaling', 'CSV')
  const row = rowsOf(text).find(([tasks]) => tasks === '8')
  assert.deepEqual(row.slice(1, 5), ['', '', '', ''])
  assert.match(row.at(-1), /no end within its limit of 4\.0 s; killed; ended by signal 11: line1 line2/)
  await close()
})

test('the data of a map are all its fields, those of a lens curve its repeats', async () => {
  const { page, close } = await open('lens')
  const curve = summaryOf('lens').lens.curves[0]
  const shown = curve.points.findLast((point) => point.lines.length > 0)
  const map = rowsOf((await saved(page, ':nth-match(article.curve, 1) figure.heat', 'CSV')).text)
  assert.deepEqual(map[0], ['line', 'address', 'CPU', 'transfers (count)', 'transfers (per fault)'])
  assert.equal(map.length - 1, shown.lines.reduce((sum) => sum + shown.cpus, 0))
  const [line, , cpu, transfers] = map[1 + shown.cpus + 2]
  assert.deepEqual([line, cpu, Number(transfers)], ['counters.hits', '2', shown.lines[1].by_cpu.find((part) => part.cpu === 2).transfers])
  const growth = rowsOf((await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'CSV')).text)
  assert.deepEqual(growth.slice(1).filter((row) => row[1]).map((row) => Number(row[2])), curve.points.flatMap((point) => point.repeats))
  await close()
})

test('the data of a comparison are its ratios and every value', async () => {
  const { page, close } = await open('compared')
  const { workloads } = summaryOf('compared')
  const ratios = rowsOf((await saved(page, 'figure.forest', 'CSV')).text)
  assert.equal(ratios.length - 1, workloads.length)
  assert.deepEqual(ratios[1].slice(2, 5).map(Number), ['value', 'low', 'high'].map((end) => workloads[0].ratio[end]))
  const values = rowsOf((await saved(page, ':nth-match(article.curve, 1) figure.order', 'CSV')).text)
  assert.deepEqual(values[0], ['side', 'in order', 'value (fault/s)'])
  assert.deepEqual(values.slice(1).map((row) => [row[0], Number(row[2])]), workloads[0].values.flatMap((side, index) => side.map((value) => ['AB'[index], value])))
  await close()
})

test('text from outside stays text in what is saved', async () => {
  const { page, problems, close } = await open('hostile')
  const { text } = await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'SVG')
  const svg = await page.evaluate(read, text)
  assert.deepEqual([svg.wrong, svg.scripts], [undefined, 0])
  const { text: data } = await saved(page, ':nth-match(article.curve, 1) figure.scaling', 'CSV')
  assert.match(data.split('\n')[0], /"rate \(op\/s<\/script><img src=x onerror=""document/)
  assert.deepEqual(problems, [])
  await close()
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
