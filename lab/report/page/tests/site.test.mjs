// The server's pages: each opens without a complaint, in both modes and on a narrow screen, leads to the next one, and executes nothing of what it shows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { useBrowser } from './browser.mjs'
import { checkPage, SCREENS } from './page-checks.mjs'
import { asked, historyCalled, openOf, useServer } from './server.mjs'

useBrowser()
useServer()

/** One page of each kind. */
async function addresses() {
  const { executions } = await asked('/api/v1/runs/1/executions?limit=1')
  const { executions: failed } = await asked('/api/v1/runs/3/executions?subject=50')
  const { marks } = await asked(`/api/v1/histories/${await historyCalled('app')}/timeline`)
  return {
    overview: '/',
    changes: '/changes#state=all',
    jobs: '/jobs',
    machines: '/machines',
    runs: '/runs',
    run: '/runs/2',
    'run of a history': '/runs/3',
    executions: '/runs/1/executions',
    samples: `/runs/1/executions/${executions[0].id}`,
    comparison: '/compare?a=1&b=2',
    history: `/histories/${await historyCalled('app')}`,
    'several histories': `/histories/${await historyCalled('app')}#with=${await historyCalled('app', 4)},${await historyCalled('</script>')}`,
    'two commits': `/histories/${await historyCalled('app')}/compare?a=${marks[69].commit}&b=${marks[70].commit}`,
    'a commit that does not build': `/histories/${await historyCalled('app')}/compare?a=${marks[69].commit}&b=${marks[30].commit}`,
    'an execution that failed': `/runs/3/executions/${failed[0].id}`,
    'hostile history': `/histories/${await historyCalled('</script>')}`,
    'history with quirks': `/histories/${await historyCalled('moved')}`,
    'long history': `/histories/${await historyCalled('long')}`,
  }
}

test('every page opens without a complaint, fits its screen, and axe finds nothing serious', async () => {
  for (const [name, address] of Object.entries(await addresses())) {
    for (const [scheme, width] of SCREENS) {
      const { page, problems, close } = await openOf(address, { scheme, width })
      await checkPage(page, problems, `${name}, ${scheme}, ${width}`)
      await close()
    }
  }
})

test('a newcomer comes from the overview to the commit of a step and to a raw sample, and back by the address', async () => {
  const { page, problems, close } = await openOf('/')
  const row = page.locator('#histories tbody tr').filter({ hasText: 'app' }).first()
  assert.match(await row.innerText(), /worse/)
  assert.equal(await row.locator('svg.spark').count(), 1)
  await row.getByRole('link').first().click()
  const { steps } = await asked(`${new URL(page.url()).pathname.replace('/histories', '/api/v1/histories')}/timeline`)
  await page.locator('#steps tbody tr').getByRole('link').first().click()
  const tip = page.locator('.tip.locked')
  await tip.waitFor()
  assert.match(await tip.innerText(), new RegExp(steps[0].commits[1].slice(0, 12)))
  assert.match(await tip.innerText(), /\+30\.\d %, worse/)
  assert.match(page.url(), new RegExp(`#at=${steps[0].commits[1]}`))
  const pinned = page.url()
  await tip.getByRole('link', { name: 'run 3' }).click()
  await page.getByRole('link', { name: 'Executions' }).click()
  await page.locator('tbody th a').first().click()
  assert.match(await page.locator('#measures').innerText(), /real_s/)
  await page.goto(pinned)
  await page.locator('.tip.locked').waitFor()
  assert.equal(await page.locator('#commits tr.pinned').count(), 1)
  assert.deepEqual(problems, [])
  await close()
})

test('two runs are compared from the list', async () => {
  const { page, problems, close } = await openOf('/runs')
  await page.getByLabel('Run 1 as A').check()
  await page.getByLabel('Run 2 as B').check()
  await page.getByRole('button', { name: 'Compare A with B' }).click()
  await page.waitForURL(/\/compare\?b=2&a=1$/)
  await page.locator('.forest .chart svg').waitFor()
  assert.deepEqual(problems, [])
  await close()
})

test('what is not there says so in a page', async () => {
  for (const [address, status] of [['/runs/99', 404], ['/nowhere', 404], ['/compare?a=1&b=3', 422], ['/runs?limit=<script>', 400], ['/histories/%22%3E%3Cscript%3E', 404]]) {
    const { page, problems, close } = await openOf(address)
    assert.equal(await page.locator('h1').innerText(), `Error ${status}`, address)
    assert.ok(problems.every((problem) => problem.includes(`status of ${status}`)), problems.join('\n'))
    await close()
  }
})

test('without JavaScript the tables are there', async () => {
  const { page, close } = await openOf(`/histories/${await historyCalled('app')}`, { javaScriptEnabled: false })
  assert.equal(await page.locator('#steps tbody tr').count(), 1)
  assert.equal(await page.locator('#commits tbody tr').count(), 120)
  assert.match(await page.locator('#commits tbody').innerText(), /does not build/)
  await close()
})

test('script and style take at most 150 kB, compressed', async () => {
  const { page, close } = await openOf('/')
  const addresses = await page.evaluate(() => [...document.querySelectorAll('script[src], link[rel=stylesheet]')].map((element) => element.src ?? element.href))
  assert.equal(addresses.length, 2)
  const texts = await Promise.all(addresses.map(async (address) => (await fetch(address)).text()))
  const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
  assert.ok(bytes > 50_000 && bytes <= 150_000, `${bytes} bytes`)
  await close()
})

test('a narrow overview has subject, step and change of each history in sight', async () => {
  const { page, close } = await openOf('/', { width: 400 })
  const row = page.locator('#histories tbody tr').filter({ hasText: 'app' }).first()
  const change = await row.locator('td').nth(1).boundingBox()
  assert.ok(change.x + change.width <= 400, JSON.stringify(change))
  assert.match(await row.locator('td').nth(1).innerText(), /^\+30\.\d %$/)
  await close()
})
