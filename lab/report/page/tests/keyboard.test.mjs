// Everything can be reached and read with the keyboard alone; the pointer gives the same figures.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, useBrowser } from './browser.mjs'

useBrowser()

const focused = (page) => page.evaluate(() => document.activeElement.outerHTML.slice(0, 120))

test('the skip link comes first, shows itself, and leads to the curves', async () => {
  const { page, close } = await open('typical')
  await page.keyboard.press('Tab')
  assert.match(await focused(page), /class="skip"/)
  assert.ok((await page.locator('.skip').boundingBox()).x >= 0)
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'curves')
  await close()
})

test('Tab reaches controls and charts, each with a visible focus', async () => {
  const { page, close } = await open('typical')
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
  await close()
})

test('arrow keys move between points, Enter pins, Escape closes', async () => {
  const { page, close } = await open('typical')
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
  await close()
})

test('a chart names its curve and its verdict', async () => {
  const { page, close } = await open('typical')
  const label = await page.locator(':nth-match(article.curve, 4) .chart').getAttribute('aria-label')
  assert.match(label, /zero_fill:base, threads: does not scale: efficiency 10\.1 %/)
  await close()
})

test('the pointer shows the nearest point and a click pins it', async () => {
  const { page, close } = await open('typical')
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
  await close()
})
