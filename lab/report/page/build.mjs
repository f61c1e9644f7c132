// Bundles script and style of the page: `node build.mjs OUT_DIR` writes page.js, page.css, page.sha256 and page.version there.
// The hash, of the very bytes that stand in the page's script element, goes into its content security policy. The version, of both
// files, goes into their names where they are files of their own.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const out = process.argv[2]
await build({
  entryPoints: { page: 'src/main.ts' },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
})
await build({ entryPoints: { page: 'src/page.css' }, outdir: out, bundle: true, minify: true, charset: 'utf8', logLevel: 'warning' })
const script = readFileSync(join(out, 'page.js'))
writeFileSync(join(out, 'page.sha256'), createHash('sha256').update(script).digest('base64'))
const style = readFileSync(join(out, 'page.css'))
writeFileSync(join(out, 'page.version'), createHash('sha256').update(script).update(style).digest('hex').slice(0, 16))
