// The plot of a history: drawing, pointer and keyboard, zoom, and the state in the address.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useBrowser } from './browser.mjs'
import { historyCalled, openOf, useServer } from './server.mjs'

useBrowser()
useServer()

const STEP = 70

async function opened(subject, hash = '', options = {}) {
  return openOf(`/histories/${await historyCalled(subject)}${hash}`, options)
}

function rangeOf(page) {
  const query = new URLSearchParams(new URL(page.url()).hash.slice(1))
  return [query.get('from'), query.get('to')].map((text) => (text === null ? null : Number(text)))
}

test('a wide interval is clipped at the border and marked, and does not flatten the line', async () => {
  const id = await historyCalled('app')
  const { page } = await openOf(`/histories/${id}`)
  assert.equal(await page.locator('.timeline .beyond text').count(), 0)
  await page.route((url) => url.pathname === `/histories/${id}`, async (route) => {
    const answer = await route.fetch({ headers: { ...route.request().headers(), 'if-none-match': '' } })
    const body = (await answer.text()).replace(/("position":20,.*?"high":)[0-9.e-]+/, (_, before) => `${before}50`)
    await route.fulfill({ response: answer, headers: { ...answer.headers(), etag: 'W/"newer"' }, body })
  })
  await page.reload()
  await page.locator('.timeline .beyond text').first().waitFor()
  assert.deepEqual(await page.locator('.timeline .beyond text').allTextContents(), ['▲'])
  const heights = await page.locator('.timeline .chart svg g[aria-label="line"]').evaluateAll((all) => all.map((one) => one.getBBox().height))
  assert.ok(Math.max(...heights) > 100, `${heights}`)
})

test('line, band, executions, step and commits that cannot be measured are drawn', async () => {
  const { page } = await opened('app')
  const svg = page.locator('.timeline .chart svg')
  assert.equal((await svg.locator('path.executions').first().getAttribute('d')).split('M').length - 1, 118 * 6)
  assert.equal(await svg.locator('g[aria-label="dot"] circle').count(), 118)
  assert.equal(await svg.locator('g[aria-label="text"] text').filter({ hasText: '✕' }).count(), 2)
  assert.match(await svg.innerHTML(), /\+30\.\d %, worse/)
  assert.equal(await page.locator('.strip line.worse').count(), 1)
  assert.match(await page.locator('#reading').innerText(), /118 of 120 commits are measured, 2 cannot be measured/)
})

test('arrow keys move between commits, including failures; Enter pins, Escape closes the box, and the address has the pinned commit', async () => {
  const { page } = await opened('app', '#from=28&to=52')
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('Home')
  const tip = page.locator('.tip')
  assert.match(await tip.innerText(), /Commit 28/)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  assert.match(await tip.innerText(), /does not build/)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  assert.match(await tip.innerText(), /Commit 31/)
  assert.match(await tip.innerText(), /interval/)
  assert.match(page.url(), /at=[0-9a-f]{40}/)
  assert.equal(await page.locator('#commits tr.pinned').getAttribute('data-position'), '31')
  await page.keyboard.press('Escape')
  assert.equal(await tip.isVisible(), false)
  assert.doesNotMatch(page.url(), /at=/)
})

test('a click pins the commit under the pointer, and its row leads back to it', async () => {
  const { page } = await opened('app')
  const box = await page.locator('.timeline .chart').boundingBox()
  await page.mouse.click(box.x + box.width / 2, box.y + 100)
  await page.locator('.tip.locked').waitFor()
  const address = page.url()
  await page.keyboard.press('Escape')
  await page.locator('#commits tbody tr').nth(3).getByRole('link').first().click()
  await page.locator('.tip.locked').filter({ hasText: 'Commit 116' }).waitFor()
  assert.notEqual(page.url(), address)
})

test('the box has commit, author, subject, files, value, interval, n, change, direction, run and host', async () => {
  const { page } = await opened('app')
  await page.locator('#commits tbody tr[data-position="70"] a').first().click()
  const rows = await page.locator('.tip.locked dl').evaluate((list) => Object.fromEntries([...list.querySelectorAll('dt')].map((term) => [term.textContent, term.nextElementSibling.textContent])))
  assert.match(rows.subject, /^Commit 70: <\/script>/)
  assert.equal(rows.author, 'A. Uthor')
  assert.match(rows.files, /^src\/load\.c, <\/script><img[^]* and 5 more$/)
  assert.match(rows.median, /^1\.3\d* s, lower is better$/)
  assert.equal(rows.n, '6')
  assert.match(rows['Δ to the previous'], /^\+30\.\d %, worse/)
  assert.match(rows['measured by'], /^run 3, raw executions$/)
  assert.equal(rows.host, 'example')
  assert.ok(Object.keys(rows).some((term) => term.endsWith('interval')))
  assert.equal(await page.locator('img').count(), 0)
})

test('a drag zooms, with Shift moves, and does not pin a commit', async () => {
  const { page } = await opened('app')
  const box = await page.locator('.timeline .chart svg').boundingBox()
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + 150)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * to, box.y + 150, { steps: 8 })
    await page.mouse.up()
  }
  await drag(0.4, 0.6)
  const [from, to] = rangeOf(page)
  assert.ok(Math.abs(from - 44) <= 3 && Math.abs(to - 69) <= 3, `${from} ${to}`)
  assert.equal(await page.locator('.tip.locked').count(), 0)
  await page.keyboard.down('Shift')
  await drag(0.6, 0.4)
  await page.keyboard.up('Shift')
  const [later, end] = rangeOf(page)
  assert.equal(end - later, to - from)
  assert.ok(later - from >= 4 && later - from <= 7, `${from} ${later}`)
  assert.equal(await page.locator('.shade').isVisible(), false)
  assert.doesNotMatch(page.url(), /at=/)
  // A click still pins.
  await page.mouse.click(box.x + box.width / 2, box.y + 150)
  await page.locator('.tip.locked').waitFor()
})

test('a click pins although the plot is redrawn between press and release', async () => {
  const { page } = await opened('app')
  const box = await page.locator('.timeline .chart svg').boundingBox()
  await page.mouse.move(box.x + box.width / 2, box.y + 150)
  await page.mouse.down()
  const drawn = await page.locator('.timeline .chart svg').elementHandle()
  await page.getByRole('button', { name: 'Zoom in' }).evaluate((button) => button.click())
  await page.waitForFunction((svg) => !svg.isConnected, drawn)
  await page.mouse.up()
  await page.locator('.tip.locked').waitFor()
})

test('missing commits and histories of an address are stated', async () => {
  const { page } = await opened('app', '#at=abcdef0123456789&with=feed,beef')
  const told = page.locator('#left-out')
  assert.match(await told.innerText(), /^Commit abcdef012345 is not pinned: it is not in this history\. 2 further histories are not drawn/)
  await page.locator('#commits tbody tr[data-position="70"] a').first().click()
  await page.locator('.tip.locked').waitFor()
  assert.equal(await told.isVisible(), false)
})

test('the box leads to raw executions and to parts of the comparison with the previous commit', async () => {
  const { page } = await opened('app')
  await page.locator('#commits tbody tr[data-position="70"] a').first().click()
  const links = await page.locator('.tip.locked dd a').evaluateAll((all) => all.map((a) => [a.textContent, a.getAttribute('href')]))
  const href = (words) => links.find(([text]) => text.includes(words))[1]
  assert.match(href('raw executions'), /^\/runs\/3\/executions\?subject=\d+$/)
  assert.match(href('counters and distributions'), /compare\?a=[0-9a-f]{40}&b=[0-9a-f]{40}#workloads$/)
  assert.match(href('files and artefacts'), /#steps$/)
  await page.locator('.tip.locked a').filter({ hasText: 'raw executions' }).click()
  assert.equal(await page.locator('tbody tr').count(), 6)
})

test('Enter follows a link of the box', async () => {
  const { page } = await opened('app')
  await page.locator('#commits tbody tr[data-position="70"] a').first().click()
  await page.locator('.tip.locked').getByRole('link', { name: 'choose as side A' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('.tip.locked').getByText('pin another commit to compare it with this one').waitFor()
  await page.locator('.tip.locked').getByRole('link', { name: 'run 3' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/runs/3')
})

test('the box of an unmeasurable commit has output, and a link to all of it', async () => {
  const { page } = await opened('app', '#from=28&to=52')
  await page.locator('#commits tbody tr[data-position="30"] a').first().click()
  const box = page.locator('.tip.locked')
  assert.match(await box.innerText(), /output/)
  await box.getByRole('link', { name: 'full output' }).click()
  assert.equal(await page.locator('#sides h3').filter({ hasText: 'B cannot be measured' }).count(), 1)
})

test('labels of steps stay within the plot, by date too', async () => {
  for (const hash of ['', '#x=date', '#from=66&to=110&x=date', '#from=20&to=71&x=date']) {
    for (const width of [1280, 400]) {
      const { page, close } = await opened('app', hash, { width })
      const chart = await page.locator('.timeline .chart').boundingBox()
      const words = await page.locator('.timeline .chart svg g[aria-label="text"] text').filter({ hasText: 'worse' }).boundingBox()
      assert.ok(words.x >= chart.x && words.x + words.width <= chart.x + chart.width, `${hash} ${width}: ${JSON.stringify([words, chart])}`)
      await close()
    }
  }
})

test('on a narrow screen the pinned box is below the plot', async () => {
  const { page } = await opened('app', '', { width: 400 })
  await page.locator('#commits tbody tr[data-position="70"] a').first().click()
  const [box, plot] = [await page.locator('.tip.locked').boundingBox(), await page.locator('.timeline .chart svg').boundingBox()]
  assert.ok(box.y >= plot.y + plot.height, JSON.stringify([box, plot]))
})

test('the wheel zooms with Ctrl, moves with Shift, and otherwise scrolls the page', async () => {
  const { page } = await opened('app')
  const box = await page.locator('.timeline .chart svg').boundingBox()
  await page.mouse.move(box.x + box.width * 0.25, box.y + 150)
  await page.keyboard.down('Control')
  for (let turn = 0; turn < 4; turn++) await page.mouse.wheel(0, -120)
  await page.keyboard.up('Control')
  await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash))
  const [from, to] = rangeOf(page)
  assert.ok(to - from < 60 && from < 30 && 20 < to, `${from} ${to}`)
  await page.keyboard.down('Shift')
  await page.mouse.wheel(0, 600)
  await page.keyboard.up('Shift')
  await page.waitForFunction((from) => Number(new URLSearchParams(location.hash.slice(1)).get('from')) > from, from)
  const moved = rangeOf(page)
  assert.equal(moved[1] - moved[0], to - from)
  await page.mouse.wheel(0, 200)
  await page.waitForFunction(() => scrollY > 0)
  assert.deepEqual(rangeOf(page), moved)
})

test('the cursor of the plot and that of the strip are at the same commit', async () => {
  const { page } = await opened('app')
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('Home')
  for (let press = 0; press < 60; press++) await page.keyboard.press('ArrowRight')
  const [inPlot, inStrip] = [page.locator('.timeline .chart line.cursor'), page.locator('.strip line.cursor')]
  const share = async (line, left, right) => {
    const place = await line.evaluate((one) => one.getBoundingClientRect().x)
    return (place - left) / (right - left)
  }
  const strip = await page.locator('.strip').boundingBox()
  assert.ok(Math.abs((await share(inStrip, strip.x, strip.x + strip.width)) - 60.5 / 120) < 0.01)
  const chart = await page.locator('.timeline .chart svg').boundingBox()
  assert.ok(Math.abs((await share(inPlot, chart.x + 74, chart.x + chart.width - 20)) - 60.5 / 120) < 0.02)
  await page.keyboard.press('Escape')
  assert.equal((await inPlot.count()) + (await inStrip.count()), 0)
})

test('executions of other boots differ in form, and the box has the number of boots', async () => {
  const { page } = await opened('app')
  await page.route('**/histories/*', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, body: (await answer.text()).replaceAll('"boots":[]', '"boots":[0,0,0,1,1,1]') })
  })
  await page.reload()
  await page.locator('.timeline .chart svg').waitFor()
  const count = async (selector) => (await page.locator(selector).getAttribute('d')).split('M').length - 1
  assert.equal(await count('path.executions:not(.other-boots)'), 118 * 3)
  assert.equal(await count('path.executions.other-boots'), 118 * 3)
  assert.equal(await page.locator('path.other-boots').getAttribute('stroke-linecap'), 'square')
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('Home')
  assert.match(await page.locator('.tip').innerText(), /6 executions in 2 boots/)
})

test('executions in random layouts are separate, and the box has their range', async () => {
  const { page } = await opened('app')
  assert.equal(await page.locator('path.in-layouts').count(), 0)
  await page.route('**/histories/*', async (route) => {
    const answer = await route.fetch()
    const body = (await answer.text()).replaceAll('"layout_values":[],"layouts":[]', '"layout_values":[1.1,1.3,1.2],"layouts":[0,1,2]')
    await route.fulfill({ response: answer, body })
  })
  await page.reload()
  await page.locator('.timeline .chart svg').waitFor()
  const places = (await page.locator('path.in-layouts').getAttribute('d')).split('M').slice(1).map((place) => place.split(/[ h]/).slice(0, 2).map(Number))
  const marks = places.length / 3
  assert.ok(Number.isInteger(marks) && marks >= 118, `${marks}`)
  const [[first], [second], [third]] = places
  assert.ok(Math.abs(first - second - 4) < 0.2 && Math.abs(second - third - 4) < 0.2, `${places.slice(0, 3)}`)
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('Home')
  const tip = await page.locator('.tip').innerText()
  assert.match(tip, /3 random layouts\s+1\.100 s \(layout 0\) … 1\.300 s \(layout 1\)/)
  // The median is that of the default layout.
  assert.equal(await page.locator('path.executions:not(.other-boots)').count(), 1)
})

test('buttons, keys and the strip choose the range of address and table', async () => {
  const { page } = await opened('app')
  await page.getByRole('button', { name: 'Zoom in' }).click()
  const [from, to] = rangeOf(page)
  assert.ok(to - from >= 55 && to - from <= 65, `${from} ${to}`)
  await page.getByRole('button', { name: 'Later commits' }).click()
  assert.equal(rangeOf(page)[1], 119)
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('0')
  assert.deepEqual(rangeOf(page), [null, null])
  const strip = await page.locator('.strip').boundingBox()
  await page.mouse.move(strip.x + strip.width * 0.5, strip.y + 20)
  await page.mouse.down()
  await page.mouse.move(strip.x + strip.width * 0.7, strip.y + 20, { steps: 4 })
  await page.mouse.up()
  const [first, last] = rangeOf(page)
  assert.ok(Math.abs(first - 60) <= 1 && Math.abs(last - 84) <= 1, `${first} ${last}`)
  assert.equal(await page.locator('#commits tbody tr').count(), last - first + 1)
  const { page: again } = await openOf(new URL(page.url()).pathname + new URL(page.url()).hash)
  assert.equal(await again.locator('#commits tbody tr').count(), last - first + 1)
})

test('the step is drawn by date and on a logarithmic axis', async () => {
  const { page } = await opened('app', '#x=date&log=1')
  assert.match(await page.locator('.timeline .chart svg').innerHTML(), /committed \(UTC\)/)
  assert.match(await page.locator('.timeline .chart svg').innerHTML(), /\+30\.\d %, worse/)
  await page.getByLabel('Order').check({ force: true })
  await page.getByLabel('Linear').check({ force: true })
  assert.equal(new URL(page.url()).hash, '')
})

test('a long history shows its slowest commit, and single commits after zooming', async () => {
  const { page } = await opened('long')
  assert.match(await page.locator('#shown').innerText(), /Too many commits/)
  const top = await page.evaluate(() => {
    const labels = [...document.querySelectorAll('.timeline .chart g[aria-label="y-axis tick label"] text')]
    return Math.max(...labels.map((label) => Number.parseFloat(label.textContent)))
  })
  assert.ok(top >= 8, `the axis ends at ${top}`)
  await page.evaluate(() => (location.hash = '#from=4300&to=4340'))
  await page.waitForFunction(() => document.querySelectorAll('#commits tbody tr').length === 41)
  await page.locator('.timeline .chart').focus()
  await page.locator('#commits tbody tr[data-position="4321"] a').first().click()
  await page.locator('.tip.locked').filter({ hasText: 'Commit 4321' }).waitFor()
  assert.match(await page.locator('.tip.locked').innerText(), /9\.\d+ s/)
})

test('the certainty of a step determines line, colour and label', async () => {
  const { page } = await opened('moved')
  const rules = page.locator('.timeline .chart g[aria-label="rule"] line[stroke-dasharray], .timeline .chart g[aria-label="rule"][stroke-dasharray]')
  const dashes = await rules.evaluateAll((lines) => lines.map((line) => [line.getAttribute('stroke-dasharray'), (line.getAttribute('stroke') ?? line.querySelector('line').getAttribute('stroke'))]))
  assert.deepEqual(dashes, [['1 4', 'var(--muted)'], ['6 4', 'var(--partly)']])
  const words = await page.locator('.timeline .chart svg').innerHTML()
  assert.match(words, /\+2\d\.\d %, worse[^<]*quirk A/)
  assert.match(words, /\+2\d\.\d %, worse, provisional/)
  assert.equal(await page.locator('.strip line.quirk').count(), 1)
  assert.equal(await page.locator('.strip line.open').count(), 1)
})

test('quirks have letters in the plot, the legend and the box', async () => {
  const { page } = await opened('moved')
  const bars = page.locator('.timeline .chart g.quirk-bars')
  assert.equal(await bars.locator('line').count(), 1)
  assert.equal(await bars.locator('text').textContent(), 'A')
  assert.match(await page.locator('#quirks dd').innerText(), /Quirk A, since run \d+ .*was '6\.1\.0', is '6\.12\.0'/)
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('End')
  assert.match(await page.locator('.tip').innerText(), /quirk\s+A/)
  await page.keyboard.press('Home')
  assert.doesNotMatch(await page.locator('.tip').innerText(), /quirk\s+A/)
})

test('the line is interrupted at unmeasurable commits, and dotted across unmeasured ones', async () => {
  const { page } = await opened('app', '#from=25&to=55')
  const lines = (which) => page.locator(`.timeline .chart g[aria-label="line"]${which} path`)
  // Commits 30 and 50 cannot be measured.
  assert.equal(await lines(':not([stroke-dasharray])').count(), 3)
  assert.equal(await lines('[stroke-dasharray]').count(), 0)
  const { page: moved } = await opened('moved')
  assert.equal(await moved.locator('.timeline .chart g[aria-label="line"]:not([stroke-dasharray]) path').count(), 2)
  assert.equal(await moved.locator('.timeline .chart g[aria-label="line"][stroke-dasharray] path').count(), 1)
})

test('a step outside the range is drawn if its interval overlaps the range', async () => {
  const { page } = await opened('moved')
  // The made-up history has exact steps, so the answer gets a wider interval.
  await page.route('**/histories/*', async (route) => {
    const answer = await route.fetch()
    const body = (await answer.text()).replace('"by":74,"earliest":73,"latest":74', '"by":74,"earliest":71,"latest":77')
    await route.fulfill({ response: answer, body })
  })
  const drawn = async (hash) => {
    await page.evaluate((hash) => (location.hash = hash), hash)
    await page.reload()
    await page.locator('.timeline .chart svg').waitFor()
    return page.locator('.timeline .chart svg').innerHTML()
  }
  for (const hash of ['#from=75&to=79', '#from=66&to=72']) assert.match(await drawn(hash), /provisional \(outside\)/, hash)
  for (const hash of ['#from=65&to=71', '#from=40&to=60']) assert.doesNotMatch(await drawn(hash), /provisional/, hash)
  assert.match(await drawn('#from=70&to=79'), /provisional</)
})

test('Escape on a link of the pinned box returns the focus to the plot', async () => {
  const { page } = await opened('app')
  await page.locator('.timeline .chart').focus()
  for (const key of ['Home', 'Enter', 'Tab']) await page.keyboard.press(key)
  assert.ok(await page.evaluate(() => document.activeElement.closest('.tip') !== null), 'Tab leads into the box')
  await page.keyboard.press('Escape')
  assert.ok(await page.locator('.tip').isHidden())
  assert.ok(await page.evaluate(() => document.activeElement.matches('.timeline .chart')), 'not the body')
})

test('labels of adjacent steps do not overlap', async () => {
  const { page } = await opened('moved')
  // The made-up history has two steps, so the answer gets more, a few commits apart.
  await page.route('**/histories/*', async (route) => {
    const answer = await route.fetch()
    const body = (await answer.text()).replace(/(<script[^>]*id="data"[^>]*>)(.*?)(?=<\/script>)/s, (_all, tag, text) => {
      const timeline = JSON.parse(text)
      const steps = Array.from({ length: 9 }, (_, index) => ({ ...timeline.steps[0], by: 20 + 4 * index, earliest: 20 + 4 * index, latest: 20 + 4 * index }))
      return tag + JSON.stringify({ ...timeline, steps }).replaceAll('<', '\\u003c')
    })
    await route.fulfill({ response: answer, body })
  })
  await page.reload()
  await page.locator('.timeline .chart svg').waitFor()
  const boxes = await page.locator('.timeline .chart svg g[aria-label="text"] text').evaluateAll((texts) => texts.filter((text) => /%/.test(text.textContent)).map((text) => text.getBoundingClientRect().toJSON()))
  assert.ok(boxes.length >= 4, `${boxes.length} words`)
  for (const [index, a] of boxes.entries()) {
    for (const b of boxes.slice(index + 1)) {
      const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 2 || b.bottom <= a.top + 2
      assert.ok(apart, `${JSON.stringify(a)} and ${JSON.stringify(b)}`)
    }
  }
})

test('a range in the query is shown, and a button shows all commits', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('app')}?from=10&to=29`)
  assert.equal(await page.locator('#commits tbody tr').count(), 20)
  assert.equal(await page.locator('.timeline .chart g[aria-label="dot"] circle').count(), 20)
  await page.getByRole('button', { name: 'All commits' }).click()
  await page.waitForFunction(() => document.querySelectorAll('#commits tbody tr').length === 120)
})

test('the plot fits a narrow screen', async () => {
  const { page } = await opened('app', `#from=${STEP - 20}&to=${STEP + 20}`, { width: 400, scheme: 'dark' })
  const box = await page.locator('.timeline .chart svg').boundingBox()
  assert.ok(box.width <= 400 && box.width > 250, String(box.width))
})
