// How the index is made and read; both sides must agree.
export const SEARCH = {
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page'],
  // Names are found whole and in parts: threadIdx.x, register_tile, As[ty][k].
  tokenize: (text) => text.match(/[\p{L}\p{N}_]+/gu)?.flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : word)).filter(Boolean) ?? [],
  searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: (word) => (word.length > 4 ? 0.2 : 0), combineWith: 'AND' },
}
