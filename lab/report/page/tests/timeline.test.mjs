// The plot of a history: what is drawn, pointer and keyboard, zoom by strip, buttons and keys, and that the address has all of it.

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

test('line, band, executions, step and commits that cannot be measured are drawn', async () => {
  const { page, problems, close } = await opened('app')
  const svg = page.locator('.timeline .chart svg')
  assert.equal((await svg.locator('path.executions').getAttribute('d')).split('M').length - 1, 118 * 6)
  assert.equal(await svg.locator('g[aria-label="dot"] circle').count(), 118)
  assert.equal(await svg.locator('g[aria-label="text"] text').filter({ hasText: '✕' }).count(), 2)
  assert.match(await svg.innerHTML(), /\+30\.\d %, worse/)
  assert.equal(await page.locator('.strip line.worse').count(), 1)
  assert.match(await page.locator('#reading').innerText(), /118 of 120 commits are measured, 2 cannot be measured/)
  assert.deepEqual(problems, [])
  await close()
})

test('arrow keys walk over commits, failures too; Enter pins, Escape closes, and the address knows', async () => {
  const { page, close } = await opened('app', '#from=28&to=52')
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
  await close()
})

test('a click pins the commit under the pointer, and its row leads back to it', async () => {
  const { page, close } = await opened('app')
  const box = await page.locator('.timeline .chart').boundingBox()
  await page.mouse.click(box.x + box.width / 2, box.y + 100)
  await page.locator('.tip.locked').waitFor()
  const address = page.url()
  await page.keyboard.press('Escape')
  await page.locator('#commits tbody tr').nth(3).getByRole('link').first().click()
  await page.locator('.tip.locked').filter({ hasText: 'Commit 116' }).waitFor()
  assert.notEqual(page.url(), address)
  await close()
})

test('buttons, keys and the strip choose the range, which the address and the table have', async () => {
  const { page, problems, close } = await opened('app')
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
  const { page: again, close: closeAgain } = await openOf(new URL(page.url()).pathname + new URL(page.url()).hash)
  assert.equal(await again.locator('#commits tbody tr').count(), last - first + 1)
  assert.deepEqual(problems, [])
  await closeAgain()
  await close()
})

test('by date and on a logarithmic axis the step stays where it is', async () => {
  const { page, problems, close } = await opened('app', '#x=date&log=1')
  assert.match(await page.locator('.timeline .chart svg').innerHTML(), /committed \(UTC\)/)
  assert.match(await page.locator('.timeline .chart svg').innerHTML(), /\+30\.\d %, worse/)
  await page.getByLabel('Order').check({ force: true })
  await page.getByLabel('Linear').check({ force: true })
  assert.equal(new URL(page.url()).hash, '')
  assert.deepEqual(problems, [])
  await close()
})

test('of many commits the slowest one is in sight, and a closer look brings single ones', async () => {
  const { page, problems, close } = await opened('long')
  assert.match(await page.locator('#shown').innerText(), /too many commits/)
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
  assert.deepEqual(problems, [])
  await close()
})

test('a narrow screen has the plot too', async () => {
  const { page, problems, close } = await opened('app', `#from=${STEP - 20}&to=${STEP + 20}`, { width: 400, scheme: 'dark' })
  const box = await page.locator('.timeline .chart svg').boundingBox()
  assert.ok(box.width <= 400 && box.width > 250, String(box.width))
  assert.deepEqual(problems, [])
  await close()
})
