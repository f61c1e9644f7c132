// Nothing is clipped, and narrow screens show the answer first.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIXTURES, open, useBrowser } from './browser.mjs'

useBrowser()

for (const name of FIXTURES) {
  test(`${name} does not scroll sideways`, async () => {
    for (const width of [1280, 390, 320]) {
      const { page, close } = await open(name, { width })
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} pixels wide`)
      await close()
    }
  })
}

for (const [name, heads] of [['typical', ['curve', 'verdict', 'efficiency']], ['two-points', ['curve', 'verdict', 'efficiency']], ['lens', ['case', 'verdict', 'each doubling adds']], ['compared', ['workload', 'answer', 'change']]]) {
  test(`${heads.slice(1).join(' and ')} of all of ${name} are in sight on a narrow screen`, async () => {
    const { page, close } = await open(name, { width: 390 })
    const table = page.locator('#overview .scroll')
    const right = await table.evaluate((element) => element.getBoundingClientRect().right)
    for (const column of [2, 3]) {
      for (const cell of await table.locator(`tr > :nth-child(${column})`).all()) {
        const content = await cell.evaluate((element) => {
          const range = document.createRange()
          range.selectNodeContents(element)
          return range.getBoundingClientRect().right
        })
        assert.ok(content <= right, `${await cell.innerText()} ends at ${content} of ${right}`)
      }
    }
    assert.deepEqual((await table.locator('thead th').allTextContents()).slice(0, 3), heads)
    await close()
  })
}

test('tables of lines and code show all columns on a wide screen, however long names are', async () => {
  for (const name of ['lens', 'lens-long']) {
    const { page, close } = await open(name)
    const clipped = await page.locator('#overview .scroll, article.curve > .scroll').evaluateAll((all) => all.filter((table) => table.scrollWidth > table.clientWidth).length)
    assert.equal(clipped, 0, name)
    await close()
  }
})
