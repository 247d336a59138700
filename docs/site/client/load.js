import { withBase } from 'vitepress'

/** Fetches a file of the site, and says in one sentence what is wrong if that fails. */
export async function load(address) {
  let answer
  try {
    answer = await fetch(withBase(address))
  } catch {
    throw new Error(`${address} cannot be reached: is the site still being served?`)
  }
  if (!answer.ok) throw new Error(`${address} is not there (${answer.status}): build the site again`)
  return answer.text()
}
