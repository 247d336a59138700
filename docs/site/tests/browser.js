// Chromium without a window, and pages that note what goes wrong on them.
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

/** A tab that fills `problems` with console errors, failed requests and requests to other hosts, and sums up what a
 * page loads without its pictures. */
export async function openTab(browser, viewport) {
  const tab = await browser.newPage()
  await tab.setViewport(viewport)
  await tab.setCacheEnabled(false)
  const problems = []
  const loaded = []
  tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(`the console says: ${message.text()}`))
  tab.on('pageerror', (error) => problems.push(`a script fails: ${error.message}`))
  tab.on('requestfailed', (request) => problems.push(`${request.url()} fails: ${request.failure()?.errorText}`))
  tab.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http') && origin !== process.env.SITE_URL) problems.push(`asks another host: ${request.url()}`)
  })
  tab.on('response', (response) => {
    if (!response.ok()) problems.push(`${response.url()} answers ${response.status()}`)
    loaded.push(response)
  })

  const weigh = async () => {
    const sizes = { plain: 0, gzip: 0 }
    for (const response of loaded) {
      if (response.request().resourceType() === 'image' || !response.url().startsWith('http')) continue
      const body = await response.buffer()
      sizes.plain += body.length
      sizes.gzip += /\.woff2/.test(response.url()) ? body.length : gzipSync(body).length
    }
    return sizes
  }
  const visit = async (address, waitUntil = 'networkidle0') => {
    problems.length = loaded.length = 0
    await tab.goto(process.env.SITE_URL + address, { waitUntil })
    await tab.evaluate(() => document.fonts.ready)
  }
  return { tab, problems, visit, weigh }
}
