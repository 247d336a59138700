const here = import.meta.url // a file in the site's folder client/

/** An address below the site's base. */
export const site = (address) => new URL(`../${address}`, here).href

/** Fetches, and says in one sentence what is wrong if that fails. */
export async function load(address) {
  let answer
  try {
    answer = await fetch(address)
  } catch {
    throw new Error(`${address} cannot be reached: is the site still being served?`)
  }
  if (!answer.ok) throw new Error(`${address} is not there (${answer.status}): build the site again`)
  return answer
}
