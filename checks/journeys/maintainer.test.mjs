// A maintainer: from the tarball of a release to a gate. A change that executes 3 % more fails with
// a comment, and a changed README passes in a job of CI. Requires the lens.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Lab, ROOT } from '../../lab/report/page/tests/real/lab.mjs'

const program = (rounds) => `#include <stdlib.h>
int main(int count, char **words)
{
    long turns = count > 1 ? atol(words[1]) * ${rounds} : 0;
    for (volatile long turn = 0; turn < turns; turn++)
        ;
    return 0;
}
`

const MAKEFILE = 'prog: prog.c\n\tcc -O1 -o prog prog.c\n'

const lab = new Lab()
const PACKED_MS = 600_000
let archive

before(() => {
  // A release of the programs at hand, instead of one downloaded.
  const out = join(lab.place, 'download')
  execFileSync(join(ROOT, 'packages/release/release.py'), ['--draft', '--out', out], { stdio: ['ignore', 'ignore', 'inherit'], timeout: PACKED_MS })
  archive = join(out, readdirSync(out).find((name) => name.endsWith('.tar.gz')))
}, { timeout: PACKED_MS + 10_000 })

after(() => lab.close())

test('a maintainer unpacks a release, and its gate fails a change that costs more', (t) => {
  const [base] = lab.repository('repository', [['First version', { 'prog.c': program(1000), Makefile: MAKEFILE }]])
  const [planted] = lab.repository('repository', [['A new check', { 'prog.c': program(1030) }]])
  const [readme] = lab.repository('repository', [['Words for newcomers', { README: 'A program.\n' }]])

  lab.command(['tar', '-xzf', archive])
  lab.program = join(lab.place, archive.split('/').pop().replace('.tar.gz', ''), 'bin/faultline')

  const gate = ['--build', 'make', '--keep', 'prog', '--time', '2s']
  const said = lab.command([lab.program, 'ci', `${base}..${planted}`, ...gate, '--report', '../report', '--', './prog', '2000'], { status: 1, directory: 'repository' })
  assert.ok(said.includes(`${planted.slice(0, 12)} is worse than ${base.slice(0, 12)}: instructions of './prog 2000' +2.9`), said)
  const comment = readFileSync(join(lab.place, 'report/ci.md'), 'utf8')
  assert.match(comment, /\| instructions +\|.* \+2\.9\d % \|.* worse +\|/)

  const job = inCi(planted, readme)
  lab.command(['python3', '-I', join(ROOT, 'action/gate.py'), 'run'], { directory: 'repository', more: job })
  const [report] = readdirSync(join(lab.place, 'runner')).filter((name) => name.startsWith('faultline-report-'))
  assert.match(readFileSync(join(lab.place, 'runner', report, 'comment.md'), 'utf8'), /^### Faultline: within budget$/m)
  t.diagnostic(`maintainer, from a download to a gate: ${lab.effort()}`)
})

/** Variables of a job on GitHub for a pull request of one commit. */
function inCi(old, changed) {
  mkdirSync(join(lab.place, 'runner'))
  lab.write('runner/event', JSON.stringify({ pull_request: { number: 5, base: { sha: old }, head: { sha: changed } } }))
  const files = Object.fromEntries(['GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY'].map((name) => [name, join(lab.place, 'runner', name)]))
  return {
    ...files,
    GITHUB_EVENT_PATH: join(lab.place, 'runner/event'), GITHUB_EVENT_NAME: 'pull_request', GITHUB_WORKSPACE: join(lab.place, 'repository'),
    GITHUB_SERVER_URL: 'https://forge.example', GITHUB_REPOSITORY: 'a/b', GITHUB_RUN_ID: '1', RUNNER_TEMP: join(lab.place, 'runner'),
    FAULTLINE_CI_ARCHIVE: archive, FAULTLINE_CI_BUILD: 'make', FAULTLINE_CI_OPTIONS: '--keep prog --time 2s', FAULTLINE_CI_COMMAND: './prog 2000',
  }
}
