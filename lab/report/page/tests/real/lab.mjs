// Real measurements for tests of pages: repositories, the command, and its server.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openPage } from '../browser.mjs'

const FAULTLINE = process.env.FAULTLINE_PROGRAM ?? fileURLToPath(new URL('../../../../../target/debug/faultline', import.meta.url))

/** Limit of a command. A guest under the lens boots within a minute on a busy machine. */
const LIMIT_MS = 600_000

export class Lab {
  place = mkdtempSync(join(tmpdir(), 'faultline-real-'))
  #server
  #token

  /** A repository of commits `[subject, { file: text }]`, oldest first. Returns their names. */
  repository(name, commits) {
    const directory = join(this.place, name)
    mkdirSync(directory)
    const git = (...words) => execFileSync('git', ['-c', 'user.name=A. Uthor', '-c', 'user.email=a@example.org', ...words], { cwd: directory, encoding: 'utf8' }).trim()
    git('init', '--quiet')
    return commits.map(([subject, files]) => {
      for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text)
      git('add', '--all')
      git('commit', '--quiet', '--message', subject)
      return git('rev-parse', 'HEAD')
    })
  }

  /** Compiles `NAME.c` of a repository for threads. */
  compile(repository, name) {
    execFileSync('cc', ['-O1', '-g', '-pthread', '-o', name, `${name}.c`], { cwd: join(this.place, repository) })
  }

  write(name, text) {
    writeFileSync(join(this.place, name), text)
  }

  #environment() {
    return { ...process.env, FAULTLINE_DB: join(this.place, 'db.sqlite'), FAULTLINE_TRUST: '1' }
  }

  /** Runs the command and returns its output. */
  faultline(...words) {
    return execFileSync(FAULTLINE, words, { cwd: this.place, env: this.#environment(), encoding: 'utf8', timeout: LIMIT_MS, stdio: ['ignore', 'pipe', 'inherit'] })
  }

  /** Starts the server. `asksForToken`: readers may set states and request jobs. */
  async serve({ asksForToken = false } = {}) {
    if (asksForToken) this.#token = this.faultline('serve', '--new-token', 'tokens', '--name', 'B. Uilder').match(/\b[A-Za-z0-9_-]{30,}\b/)[0]
    const words = ['serve', '--listen', '127.0.0.1:0', ...(asksForToken ? ['--token-file', 'tokens'] : [])]
    this.#server = spawn(FAULTLINE, words, { cwd: this.place, env: this.#environment(), stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(createInterface({ input: this.#server.stdout }), 'line')
    this.address = line.match(/http:\/\/[^/ ]+/)[0]
  }

  /** The JSON of a path. */
  async asked(path) {
    const answer = await fetch(this.address + path, this.#token ? { headers: { authorization: `Bearer ${this.#token}` } } : {})
    return answer.json()
  }

  /** Opens a page. Requests to other hosts are problems. */
  open(path, options = {}) {
    const login = this.#token ? { username: 'B. Uilder', password: this.#token } : undefined
    return openPage(this.address + path, { ...options, login, offline: false, allowed: (url) => url.startsWith(`${this.address}/`) })
  }

  close() {
    this.#server?.kill()
    rmSync(this.place, { recursive: true, force: true })
  }
}
