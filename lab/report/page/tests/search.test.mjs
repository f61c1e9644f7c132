// The page of a search along commits: its picture fits every screen, with and without a script.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPage, open, useBrowser } from './browser.mjs'

useBrowser()

for (const [scheme, width] of [['light', 1400], ['dark', 400]]) {
  test(`the search is a picture without a script, ${width}`, async () => {
    const { page } = await open('search', { scheme, width, javaScriptEnabled: false })
    const figure = page.locator('figure.search')
    assert.equal(await figure.locator('circle').count(), 5)
    assert.equal(await figure.locator('line.step').count(), 1)
    const svg = await figure.locator('svg').boundingBox()
    for (const text of await figure.locator('svg text').all()) {
      const box = await text.boundingBox()
      assert.ok(box.x >= 0 && box.x + box.width <= width, `${await text.textContent()}: ${JSON.stringify(box)}`)
    }
    assert.ok(svg.width > width * 0.7, JSON.stringify(svg))
  })

  test(`the page of a search fits, ${width}`, async () => {
    const { page } = await open('search', { scheme, width })
    await checkPage(page, `search, ${width}`)
    assert.match(await page.locator('#answer').innerText(), / changed the time/)
    assert.match(await page.locator('#commits a.forge').first().getAttribute('href'), /^https:\/\/github\.com\/owner\/name\/commit\/[0-9a-f]{40}$/)
  })
}
