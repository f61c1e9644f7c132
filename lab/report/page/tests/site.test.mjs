// Pages of the server: all kinds, comparisons of commits, and updates during a run.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { checkPage, SCREENS, useBrowser } from './browser.mjs'
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

test('every page opens without problems, fits its screen, and passes axe', async () => {
  for (const [name, address] of Object.entries(await addresses())) {
    for (const [scheme, width] of SCREENS) {
      const { page, close } = await openOf(address, { scheme, width })
      await checkPage(page, `${name}, ${scheme}, ${width}`)
      assert.equal(await page.locator('img').count(), 0, name)
      await close()
    }
  }
})

test('links lead from the overview to the commit of a step and a raw sample, and the address back', async () => {
  const { page } = await openOf('/')
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
})

test('two runs of the list are compared', async () => {
  const { page } = await openOf('/runs')
  await page.getByLabel('Run 1 as A').check()
  await page.getByLabel('Run 2 as B').check()
  await page.getByRole('button', { name: 'Compare A with B' }).click()
  await page.waitForURL(/\/compare\?b=2&a=1$/)
  await page.locator('.forest .chart svg').waitFor()
})

test('missing pages have an error page', async () => {
  for (const [address, status] of [['/runs/99', 404], ['/nowhere', 404], ['/compare?a=1&b=3', 422], ['/runs?limit=<script>', 400], ['/histories/%22%3E%3Cscript%3E', 404]]) {
    const { page, close } = await openOf(address, { expected: `status of ${status}` })
    assert.equal(await page.locator('h1').innerText(), `Error ${status}`, address)
    await close()
  }
})

test('without JavaScript the tables are visible', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('app')}`, { javaScriptEnabled: false })
  assert.equal(await page.locator('#steps tbody tr').count(), 1)
  assert.equal(await page.locator('#commits tbody tr').count(), 120)
  assert.match(await page.locator('#commits tbody').innerText(), /does not build/)
})

test('script and style have at most 150 kB, compressed', async () => {
  const { page } = await openOf('/')
  const addresses = await page.evaluate(() => [...document.querySelectorAll('script[src], link[rel=stylesheet]')].map((element) => element.src ?? element.href))
  assert.equal(addresses.length, 2)
  const texts = await Promise.all(addresses.map(async (address) => (await fetch(address)).text()))
  const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
  assert.ok(bytes > 50_000 && bytes <= 150_000, `${bytes} bytes`)
})

test('a narrow overview shows subject, step and change of each history', async () => {
  const { page } = await openOf('/', { width: 400 })
  const row = page.locator('#histories tbody tr').filter({ hasText: 'app' }).first()
  const change = await row.locator('td').nth(1).boundingBox()
  assert.ok(change.x + change.width <= 400, JSON.stringify(change))
  assert.match(await row.locator('td').nth(1).innerText(), /^\+30\.\d %$/)
})

/** True if a part of the page is visible without scrolling sideways. */
async function isInSight(page, part) {
  const box = await part.boundingBox()
  return box !== null && box.x >= 0 && box.x + box.width <= page.viewportSize().width
}

test('narrow lists of steps show the state of each step', async () => {
  for (const [address, list] of [['/', '#histories'], ['/changes#state=all', '#changes'], [`/histories/${await historyCalled('app')}`, '#steps']]) {
    const { page, close } = await openOf(address, { width: 400 })
    const state = page.locator(`${list} tbody tr`).filter({ hasText: 'worse' }).first().locator('.only-narrow .badge').last()
    assert.match(await state.innerText(), /found/, address)
    assert.ok(await isInSight(page, state), address)
    await close()
  }
})

test('no column of a list is hidden on a wide screen', async () => {
  for (const [address, list] of [['/runs', '#runs'], ['/changes#state=all', '#changes'], [`/histories/${await historyCalled('app')}`, '#steps'], ['/', '#histories']]) {
    const { page, close } = await openOf(address, { width: 1400 })
    const hidden = await page.locator(`${list} .scroll`).evaluateAll((all) => all.map((one) => one.querySelector('table').offsetWidth - one.clientWidth))
    assert.deepEqual(hidden.filter((width) => width > 0), [], address)
    await close()
  }
})

test('each page opens with its answer', async () => {
  for (const [address, answer] of [['/', /became worse: app/], [`/histories/${await historyCalled('app')}`, /^1 step in 118 measured commits; the newest: \+30\.\d %, worse.* at [0-9a-f]{12} \(.*\)\.$/], ['/changes', /open changes? in this list/], ['/runs/1', /\.$/]]) {
    const { page, close } = await openOf(address)
    assert.match(await page.locator('.masthead #answer').innerText(), answer, address)
    await close()
  }
})

const STEP = 70

async function marks(id) {
  return (await asked(`/api/v1/histories/${id}/timeline`)).marks
}

test('a pinned commit leads to the comparison with the previous one, and to raw executions', async () => {
  const id = await historyCalled('app')
  const commits = await marks(id)
  const { page } = await openOf(`/histories/${id}#at=${commits[STEP].commit}`)
  const tip = page.locator('.tip.locked')
  await tip.getByRole('link', { name: /^with the previous one/ }).click()
  await page.waitForURL(`**/compare?a=${commits[STEP - 1].commit}&b=${commits[STEP].commit}`)
  await page.locator('.forest .chart svg').waitFor()
  assert.match(await page.locator('#overview tbody').innerText(), /slower/)
  assert.match(await page.locator('#between').innerText(), /1 commit of the history by A\. Uthor/)
  assert.match(await page.locator('#steps').innerText(), /\+30\.\d % .*worse/)
  await page.locator('#sides tbody tr').nth(1).getByRole('link', { name: 'raw executions' }).click()
  await page.waitForURL(`**/runs/3/executions?subject=${STEP}`)
  assert.equal(await page.locator('tbody tr').count(), 6)
  await page.locator('tbody th a').first().click()
  assert.match(await page.locator('#outcome').innerText(), /done|succeeded/i)
  assert.match(await page.locator('#measures').innerText(), /real_s/)
})

test('any two commits are compared by choosing side A, which the address has', async () => {
  const id = await historyCalled('app')
  const commits = await marks(id)
  const { page } = await openOf(`/histories/${id}#at=${commits[90].commit}`)
  const tip = page.locator('.tip.locked')
  await tip.getByRole('link', { name: 'choose as side A' }).click()
  assert.match(page.url(), new RegExp(`[#&]a=${commits[90].commit}`))
  await page.reload()
  await page.locator('#commits tbody tr[data-position="110"] a').first().click()
  await tip.getByRole('link', { name: /^with side A/ }).click()
  await page.waitForURL(`**/compare?a=${commits[90].commit}&b=${commits[110].commit}`)
  assert.match(await page.locator('#between').innerText(), /20 commits of the history by/)
  assert.match(await page.locator('#steps').innerText(), /No step of the history begins here/)
  await page.locator('#sides').getByRole('link').first().click()
  await page.locator('.tip.locked').waitFor()
})

test('two clicks lead from the overview to both sides of the last step', async () => {
  const { page } = await openOf('/')
  await page.locator('#histories tbody tr').filter({ hasText: 'app' }).first().getByRole('link').first().click()
  await page.locator('#steps').getByRole('link', { name: 'Compare both sides' }).click()
  assert.match(await page.locator('h1').innerText(), /^app: [0-9a-f]{12} → [0-9a-f]{12}$/)
  assert.match(await page.locator('#overview').innerText(), /slower/)
})

test('a commit that does not build shows the output of its build as text', async () => {
  const id = await historyCalled('app')
  const commits = await marks(id)
  const { page } = await openOf(`/histories/${id}/compare?a=${commits[29].commit}&b=${commits[30].commit}`, { width: 400, scheme: 'dark' })
  const text = await page.locator('#sides').innerText()
  assert.match(text, /B cannot be measured[^]*it exited with status 2[^]*<img src=x onerror=alert\(1\)>/)
  assert.match(await page.locator('main').innerText(), /Not compared: both commits need a value/)
  assert.equal(await page.locator('img').count(), 0)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.ok(wide <= 0, `${wide} px too wide`)
})

const LIVE = 'A run is not finished. This page updates automatically.'

/** Answers requests for the page with a newer state. */
async function answerNewer(page, change) {
  await page.route((url) => url.pathname === new URL(page.url()).pathname, async (route) => {
    const answer = await route.fetch({ headers: { ...route.request().headers(), 'if-none-match': '' } })
    await route.fulfill({ response: answer, headers: { ...answer.headers(), etag: 'W/"newer"' }, body: change(await answer.text()) })
  })
}

test('new results of a history appear without a reload, and the state remains', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('growing')}#from=2&to=11`)
  assert.equal(await page.locator('#live').innerText(), LIVE)
  assert.doesNotMatch(await page.locator('#commits').innerText(), /Commit 11 anew/)
  await page.locator('.timeline .chart').focus()
  await answerNewer(page, (body) => body.replaceAll('Commit 11', 'Commit 11 anew').replace('id="reading-title"', 'id="reading-title" data-newer'))
  await page.locator('#commits').getByText('Commit 11 anew').waitFor({ timeout: 20_000 })
  assert.equal(await page.locator('#reading-title[data-newer]').count(), 1)
  assert.equal(await page.locator('#commits tbody tr').count(), 10)
  await page.keyboard.press('End')
  assert.match(await page.locator('.tip').innerText(), /Commit 11 anew/)
  assert.match(page.url(), /#from=2&to=11$/)
})

test('the overview is updated, except the part with the focus', async () => {
  const { page } = await openOf('/')
  assert.equal(await page.locator('#live').innerText(), LIVE)
  await page.locator('#histories a').first().focus()
  await answerNewer(page, (body) => body.replaceAll('<section', '<section data-newer'))
  await page.locator('#open[data-newer]').waitFor({ timeout: 20_000 })
  assert.equal(await page.locator('#recent[data-newer]').count(), 1)
  assert.equal(await page.locator('#histories[data-newer]').count(), 0)
})

test('a page becomes live when a run begins', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('app')}`)
  assert.equal(await page.locator('#live').innerText(), '')
  await answerNewer(page, (body) => body.replace(/<p [^>]*id="live"[^>]*><\/p>/, '<p id="live" data-live="on">A run is not finished. <span class="live-state"></span></p>').replaceAll('Commit 117', 'Commit 117 anew'))
  await page.locator('#live').getByText(LIVE).waitFor({ timeout: 40_000 })
  await page.locator('#commits').getByText('Commit 117 anew').waitFor()
})

test('a page without active runs states only that the server is silent', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('app')}`, { expected: 'ERR_FAILED' })
  await page.route((url) => url.pathname === new URL(page.url()).pathname, (route) => route.abort())
  await page.locator('#live').getByText('The server does not answer. Retrying.').waitFor({ timeout: 40_000 })
  await page.unrouteAll()
  await page.waitForFunction(() => document.getElementById('live').textContent === '', undefined, { timeout: 40_000 })
})
