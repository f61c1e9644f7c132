// Facts read in words with units; the key and the value as it was found are with them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

test('facts are words, with units, under headings', async () => {
  const { page, close } = await open('typical')
  const facts = page.locator('#facts')
  assert.deepEqual(await facts.locator('h3').allTextContents(), ['CPUs', 'Caches', 'Kernel', 'Load and limits', 'os'])
  const size = facts.locator('dt', { hasText: 'L2 cache size' })
  assert.equal(await size.locator('+ dd').innerText(), '1 MiB')
  assert.equal(await size.getAttribute('title'), 'cache.l2.size_bytes = 1048576')
  assert.doesNotMatch(await facts.innerText(), /[a-z]\.[a-z]+_/, 'no raw key')
  await close()
})

test('facts that differ between two machines are words with their keys', async () => {
  const { page, close } = await open('compared')
  const rows = page.locator('#facts tbody tr')
  for (const [index, { key }] of summaryOf('compared').facts.entries()) {
    assert.equal(await rows.nth(index).locator('th code').innerText(), key)
    assert.notEqual((await rows.nth(index).locator('th').innerText()).split('\n')[0], key)
  }
  await close()
})
