// Chromium and Firefox without a window, and pages that note what goes wrong on them.
import fs from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import puppeteer from 'puppeteer-core'

export const PHONE = { width: 375, height: 800 }
export const WIDE = { width: 1440, height: 900 }

export const launch = () =>
  puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    // In a container there is no sandbox for root, and little shared memory.
    args: ['--disable-gpu', '--disable-dev-shm-usage', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
  })

export const launchFirefox = () => puppeteer.launch({ browser: 'firefox', executablePath: process.env.FIREFOX })

/** A tab that fills `problems` with console errors, failed requests and requests to other hosts, and sums up what a
 * page loads without its pictures. */
export async function openTab(browser, viewport, site = process.env.SITE_URL) {
  const tab = await browser.newPage()
  await tab.setViewport(viewport)
  const problems = []
  const loaded = new Set() // files of the site
  tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(`the console says: ${message.text()}`))
  tab.on('pageerror', (error) => problems.push(`a script fails: ${error.message}`))
  tab.on('requestfailed', (request) => problems.push(`${request.url()} fails: ${request.failure()?.errorText}`))
  tab.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http') && origin !== new URL(site).origin) problems.push(`asks another host: ${request.url()}`)
  })
  tab.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.url()} answers ${response.status()}`)
    const { protocol, pathname } = new URL(response.url())
    if (protocol.startsWith('http') && response.request().resourceType() !== 'image') loaded.add(decodeURI(pathname).replace(/\/$/, '/index.html'))
  })

  const weigh = () => {
    const sizes = { plain: 0, gzip: 0 }
    for (const file of loaded) {
      const body = fs.readFileSync(path.join(process.env.SITE_DIR, file))
      sizes.plain += body.length
      sizes.gzip += gzipSync(body).length
    }
    return sizes
  }
  const visit = async (address, waitUntil = 'networkidle0') => {
    await tab.goto('about:blank') // what the page before still loads is none of this one's
    problems.length = 0
    loaded.clear()
    await tab.goto(site + address, { waitUntil })
    await tab.evaluate(() => document.fonts.ready)
  }
  return { tab, problems, visit, weigh }
}
