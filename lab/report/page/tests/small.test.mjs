// Curves with few points: their cards stand in rows, and grow to the full width when their figures are opened.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

const boxes = (page) => page.locator('article.curve').evaluateAll((all) => all.map((card) => card.getBoundingClientRect()).map(({ top, left, width }) => ({ top, left, width })))

test('four curves of two points stand in a row on a wide screen, one on a narrow one', async () => {
  for (const [width, columns] of [[1280, 4], [390, 1]]) {
    const { page, close } = await open('two-points', { width })
    const [first, ...others] = await boxes(page)
    assert.equal(1 + others.filter(({ top }) => top === first.top).length, columns)
    await close()
  }
})

test('a page of two-point curves is short', async () => {
  const { page, close } = await open('two-points')
  const { height } = await page.locator('#curves').boundingBox()
  const { length } = summaryOf('two-points').curves
  assert.ok(height < 180 * length, `${height} pixels for ${length} curves`)
  await close()
})

test('curves with more points have a row of their own', async () => {
  const { page, close } = await open('typical')
  const all = await boxes(page)
  assert.equal(new Set(all.map(({ top }) => top)).size, all.length)
  assert.equal(await page.locator('.common').count(), 0)
  await close()
})

test('what small cards leave out stands once above them', async () => {
  const { page, close } = await open('two-points')
  assert.match(await page.locator('.common').innerText(), /Medians with intervals[^]*Where the time of all CPUs went[^]*user\s+system\s+idle\s+steal/)
  assert.equal(await page.locator('article.curve figcaption:visible').count(), 0)
  await close()
})

test('a small card grows when its figures are opened, and shrinks again', async () => {
  const { page, close } = await open('two-points')
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
  await close()
})

test('words in a small chart do not touch each other', async () => {
  const { page, close } = await open('two-points')
  const touching = await page.locator('article.curve svg').evaluateAll((all) => all.flatMap((svg) => {
    const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent !== 'ideal').map((text) => [text.textContent, text.getBoundingClientRect()])
    return texts.flatMap(([a, one], index) => texts.slice(index + 1)
      .filter(([, other]) => one.left < other.right - 1 && other.left < one.right - 1 && one.top + 3 < other.bottom - 3 && other.top + 3 < one.bottom - 3)
      .map(([b]) => `${a} and ${b}`))
  }))
  assert.deepEqual(touching, [])
  await close()
})

test('the box of figures stays within the page', async () => {
  const { page, close } = await open('two-points')
  for (const index of [0, 3]) {
    await page.locator('article.curve .chart').nth(index).focus()
    await page.keyboard.press('End')
    const tip = await page.locator('article.curve .tip').nth(index).boundingBox()
    assert.ok(tip.x >= 0 && tip.x + tip.width <= 1280)
  }
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
  await close()
})
