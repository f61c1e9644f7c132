// An engineer: from two builds of a program to the line that makes one slower. Its counters share a
// cache line, or have a line each. Requires the lens.

import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Lab, ROOT } from '../../lab/report/page/tests/real/lab.mjs'

const SOURCES = join(ROOT, 'lab/faultline/tests/lens_program')
const ADDING = readFileSync(join(SOURCES, 'counters.c'), 'utf8').split('\n').findIndex((line) => line.includes('atomic_fetch_add(')) + 1

const lab = new Lab()

before(() => {
  for (const [build, ...options] of [['packed'], ['padded', '-DPADDED']]) {
    mkdirSync(join(lab.place, build))
    for (const file of ['counters.c', 'crew.h']) copyFileSync(join(SOURCES, file), join(lab.place, build, file))
    lab.compile(build, 'counters', `-I${join(ROOT, 'workloads/harness')}`, ...options)
  }
})

after(() => lab.close())

test('an engineer compares two builds, and learns which line of code moves which data', (t) => {
  // On a busy machine, or one with a single CPU, the answer may be that it is inconclusive.
  const compared = lab.faultline('compare', './packed/counters 2 1000000', './padded/counters 2 1000000', '--time', '5s', '--quiet')
  assert.match(compared, /\.\/padded\/counters 2 1000000/)

  for (const build of ['packed', 'padded']) {
    lab.faultline('lens', 'program', '--tasks', '2', '--ops', '2000', '--label', build, '--quiet', '--', `./${build}/counters`, '{tasks}', '2000')
  }
  const why = lab.faultline('lens', 'compare', 'packed', 'padded')
  assert.match(why, /counter\[[01]\]\.hits/)
  assert.match(why, new RegExp(`work counters\\.c:${ADDING}\\b`))
  t.diagnostic(`engineer, from two builds to the line: ${lab.effort()}`)
})
